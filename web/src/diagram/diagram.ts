/** The diagram of a level: selection, plumbing, arrow keys, zoom. */
import { DiagramGraph, type Direction } from "./graph";
import { Zoom } from "./zoom";

export class Diagram {
  readonly zoom: Zoom;
  readonly level: string;
  private known: DiagramGraph | null = null;

  constructor(
    readonly figure: HTMLElement,
    readonly svg: SVGSVGElement,
    private readonly opened: (stretches: string[]) => void,
    zoomed: () => void,
  ) {
    this.level = figure.dataset["level"] ?? "";
    this.zoom = new Zoom(figure, svg, zoomed);
    for (const sign of svg.querySelectorAll<SVGGElement>(".plumbing-sign")) {
      const edge = sign.closest<SVGGElement>("g.edge");
      if (!edge) continue;
      makeButton(sign, sign.classList.contains("closer") ? "Close the plumbing" : "Open the plumbing");
    }
  }

  /** The diagram on the page, if its level has one. */
  static find(opened: (stretches: string[]) => void, zoomed: () => void): Diagram | null {
    const figure = document.querySelector<HTMLElement>("#level figure.diagram");
    const svg = figure?.querySelector<SVGSVGElement>(":scope > svg") ?? null;
    return figure && svg ? new Diagram(figure, svg, opened, zoomed) : null;
  }

  destroy(): void {
    this.zoom.destroy();
  }

  node(address: string): SVGGElement | null {
    return this.svg.querySelector<SVGGElement>(`g.node[data-address="${CSS.escape(address)}"]`);
  }

  /** Marks the box at `address` as the one whose page is beside the diagram. */
  select(address: string | null): void {
    for (const old of this.svg.querySelectorAll("g.node.selected, g.edge.selected")) {
      old.classList.remove("selected");
      old.querySelector("a[aria-current]")?.removeAttribute("aria-current");
    }
    if (address === null) return;
    const node = this.node(address);
    const marked = node ? [node] : this.svg.querySelectorAll(`g.edge[data-tensor="${CSS.escape(address)}"]`);
    for (const element of marked) {
      element.classList.add("selected");
      element.querySelector("a")?.setAttribute("aria-current", "page");
    }
  }

  /** What is selected, to bring it into view. */
  get selected(): Element | null {
    return this.svg.querySelector("g.node.selected, g.edge.selected");
  }

  /** Links of a diagram that stays while the address of the page changes must not depend on that address. */
  makeLinksAbsolute(): void {
    for (const link of this.svg.querySelectorAll<SVGAElement>("a[href]")) {
      link.setAttribute("href", new URL(link.getAttribute("href")!, document.baseURI).href);
    }
  }

  /** Opens exactly the stretches of plumbing named `<tensor> <target>`. */
  setOpen(stretches: readonly string[]): void {
    for (const group of this.svg.querySelectorAll<SVGGElement>("g.opened")) {
      group.classList.toggle("open", stretches.includes(group.dataset["opened"] ?? ""));
    }
    for (const edge of this.svg.querySelectorAll<SVGGElement>("g.edge[data-plumbing]")) {
      const open = stretches.includes(edge.dataset["plumbing"]!);
      edge.classList.toggle("open", open);
      for (const sign of edge.querySelectorAll(".plumbing-sign")) sign.setAttribute("aria-expanded", String(open));
    }
    this.known = null;
  }

  /** Opens or closes the plumbing of the line that `target` is in, if it is its sign; tells whether it was. */
  toggle(target: Element): boolean {
    const sign = target.closest(".plumbing-sign");
    const name = sign?.closest<SVGGElement>("g.edge")?.dataset["plumbing"];
    if (sign == null || name === undefined) return false;
    const within = sign === document.activeElement;
    const open = new Set(this.openStretches());
    const opens = !open.delete(name);
    if (opens) open.add(name);
    this.setOpen([...open]);
    this.opened([...open]);
    if (within) this.focusSign(name, opens);
    return true;
  }

  /** Signs come and go with what they open; the focus stays with the stretch. */
  private focusSign(name: string, open: boolean): void {
    const sign = open ? ".plumbing-sign.closer" : ".plumbing-sign:not(.closer)";
    this.svg.querySelector<SVGGElement>(`g.edge[data-plumbing="${CSS.escape(name)}"] ${sign}`)?.focus({ preventScroll: true });
  }

  openStretches(): string[] {
    return [...this.svg.querySelectorAll<SVGGElement>("g.edge.open[data-plumbing]")].map((edge) => edge.dataset["plumbing"]!);
  }

  /** Moves the focus along the lines; tells whether there was somewhere to go. */
  walk(direction: Direction): boolean {
    this.known ??= new DiagramGraph(this.svg);
    const current = document.activeElement?.closest<SVGGElement>("g.node[data-address]") ?? null;
    const from = current?.dataset["address"] ?? null;
    const selected = this.selected as SVGGElement | null;
    if (from === null && selected?.dataset["address"] !== undefined) return this.focus(selected.dataset["address"]);
    const next = this.known.step(from, direction);
    return next !== null && this.focus(next);
  }

  /** Puts the focus on the box at `address` and brings it into view. */
  focus(address: string): boolean {
    const node = this.node(address);
    if (node === null) return false;
    const link = node.querySelector<SVGAElement>("a[href]");
    if (link === null) node.setAttribute("tabindex", "-1");
    (link ?? node).focus({ preventScroll: true });
    this.zoom.reveal(node);
    return true;
  }
}

function makeButton(sign: SVGGElement, label: string): void {
  for (const [name, value] of [["tabindex", "0"], ["role", "button"], ["aria-expanded", "false"], ["aria-label", label]] as const) {
    sign.setAttribute(name, value);
  }
}
