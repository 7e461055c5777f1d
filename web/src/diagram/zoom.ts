/**
 * Pan and zoom of a diagram. The browser's own scrolling pans (wheel, finger, keys, the focus coming into view), so that it
 * stays smooth however many boxes there are; zooming sets the size of the SVG.
 */

const LEAST = 0.05;
const MOST = 4;

export class Zoom {
  scale = 1;
  private readonly natural: { width: number; height: number };
  private readonly stop = new AbortController();
  private readonly touches = new Map<number, PointerEvent>();

  constructor(private readonly figure: HTMLElement, private readonly svg: SVGSVGElement, private readonly changed: () => void) {
    const [, , width, height] = svg.getAttribute("viewBox")!.split(/\s+/).map(Number);
    this.natural = { width: width!, height: height! };
    const options = { signal: this.stop.signal };
    figure.addEventListener("wheel", (event) => this.wheel(event), { ...options, passive: false });
    figure.addEventListener("pointerdown", (event) => this.down(event), options);
    figure.addEventListener("pointermove", (event) => this.move(event), options);
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"] as const) {
      figure.addEventListener(name, (event) => this.up(event), options);
    }
    // A drag that began on a link must not follow it, nor drag the link itself away.
    figure.addEventListener("click", (event) => this.dragged && (event.preventDefault(), event.stopPropagation()), {
      ...options, capture: true,
    });
    figure.addEventListener("dragstart", (event) => event.preventDefault(), options);
  }

  destroy(): void {
    this.stop.abort();
  }

  /** Zooms to `scale` so that the point at `x`, `y` of the window (else the middle of the figure) stays where it is. */
  to(scale: number, x?: number, y?: number): void {
    const next = Math.min(MOST, Math.max(LEAST, scale));
    if (next === this.scale) return;
    const box = this.figure.getBoundingClientRect();
    const inner = this.svg.getBoundingClientRect();
    const atX = x ?? box.left + box.width / 2;
    const atY = y ?? box.top + box.height / 2;
    const factor = next / this.scale;
    const [alongX, alongY] = [(atX - inner.left) * factor, (atY - inner.top) * factor];
    this.scale = next;
    this.svg.setAttribute("width", String(this.natural.width * next));
    this.svg.setAttribute("height", String(this.natural.height * next));
    const after = this.svg.getBoundingClientRect();
    this.figure.scrollLeft += after.left + alongX - atX;
    this.figure.scrollTop += after.top + alongY - atY;
    this.changed();
  }

  by(factor: number): void {
    this.to(this.scale * factor);
  }

  /** The whole diagram, but never larger than at first. */
  fit(): void {
    const { width, height } = this.natural;
    const style = getComputedStyle(this.figure);
    const room = (...names: string[]): number => names.reduce((sum, name) => sum + parseFloat(style.getPropertyValue(name)), 2);
    const across = this.figure.clientWidth - room("padding-left", "padding-right");
    const down = this.figure.clientHeight - room("padding-top", "padding-bottom");
    this.to(Math.min(1, across / width, down / height));
  }

  /** Brings an element of the diagram into view, if it is not. */
  reveal(element: Element, always = false): void {
    const box = this.figure.getBoundingClientRect();
    const target = element.getBoundingClientRect();
    const inside = target.left >= box.left && target.right <= box.right && target.top >= box.top && target.bottom <= box.bottom;
    if (inside && !always) return;
    this.figure.scrollLeft += target.left + target.width / 2 - box.left - box.width / 2;
    this.figure.scrollTop += target.top + target.height / 2 - box.top - box.height / 2;
  }

  private wheel(event: WheelEvent): void {
    if (!event.ctrlKey && !event.metaKey) return; // plain wheels scroll; a pinch on a touchpad comes with ctrl
    event.preventDefault();
    const step = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? event.deltaY * 16 : event.deltaY;
    this.to(this.scale * Math.exp(-Math.max(-80, Math.min(80, step)) * 0.008), event.clientX, event.clientY);
  }

  private dragged = false;
  private start: { x: number; y: number; left: number; top: number } | null = null;
  private spread = 0;

  private down(event: PointerEvent): void {
    if (event.pointerType === "touch") {
      this.touches.set(event.pointerId, event);
      this.spread = 0;
      return;
    }
    this.dragged = false;
    if (event.button !== 0 && event.button !== 1) return;
    this.start = { x: event.clientX, y: event.clientY, left: this.figure.scrollLeft, top: this.figure.scrollTop };
  }

  private move(event: PointerEvent): void {
    if (this.touches.has(event.pointerId)) {
      this.touches.set(event.pointerId, event);
      this.pinch();
      return;
    }
    if (this.start === null) return;
    const [dx, dy] = [event.clientX - this.start.x, event.clientY - this.start.y];
    if (!this.dragged) {
      if (Math.abs(dx) + Math.abs(dy) < 5) return;
      this.dragged = true;
      this.figure.setPointerCapture(event.pointerId);
      this.figure.classList.add("dragging");
    }
    this.figure.scrollLeft = this.start.left - dx;
    this.figure.scrollTop = this.start.top - dy;
  }

  private up(event: PointerEvent): void {
    this.touches.delete(event.pointerId);
    this.spread = 0;
    this.start = null;
    this.figure.classList.remove("dragging");
    // The click of this drag comes right after; later clicks are none of its business.
    if (this.dragged) setTimeout(() => (this.dragged = false));
  }

  private pinch(): void {
    const [first, second] = [...this.touches.values()];
    if (first === undefined || second === undefined) return;
    const spread = Math.hypot(first.clientX - second.clientX, first.clientY - second.clientY);
    if (this.spread > 0) {
      this.to(this.scale * (spread / this.spread), (first.clientX + second.clientX) / 2, (first.clientY + second.clientY) / 2);
    }
    this.spread = spread;
  }
}
