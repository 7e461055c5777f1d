/** One light: what belongs together lights together, wherever one points. */

const LIGHTS = "[data-light], [data-address], [data-tensor]";

/**
 * Which elements of a page belong together. Words are terms of formulas (`residual`) and addresses (`@layers/output`);
 * a term stands for addresses, and they for it.
 */
export class LightMap {
  private readonly elements = new Map<string, Element[]>();
  private readonly words = new WeakMap<Element, readonly string[]>();
  private readonly partners = new Map<string, Set<string>>();

  constructor(root: ParentNode, terms: Readonly<Record<string, readonly string[]>>) {
    for (const [term, addresses] of Object.entries(terms)) {
      for (const address of addresses) {
        this.pair(term, `@${address}`);
        this.pair(`@${address}`, term);
      }
    }
    for (const element of root.querySelectorAll<HTMLElement | SVGElement>(LIGHTS)) {
      const found = wordsOf(element);
      this.words.set(element, found);
      for (const word of found) {
        const known = this.elements.get(word);
        if (known) known.push(element);
        else this.elements.set(word, [element]);
      }
    }
  }

  /** The elements that light when one points at `element`, itself included; none if it does not light. */
  together(element: Element): Set<Element> {
    const words = new Set(this.words.get(element) ?? []);
    // A term brings its addresses, an address its terms and what else they stand for; it goes no further.
    for (const word of [...words]) {
      for (const partner of this.partners.get(word) ?? []) {
        words.add(partner);
        if (word.startsWith("@")) for (const other of this.partners.get(partner) ?? []) words.add(other);
      }
    }
    const lit = new Set<Element>();
    for (const word of words) for (const found of this.elements.get(word) ?? []) lit.add(found);
    return lit;
  }

  private pair(from: string, to: string): void {
    const known = this.partners.get(from);
    if (known) known.add(to);
    else this.partners.set(from, new Set([to]));
  }
}

function wordsOf(element: HTMLElement | SVGElement): string[] {
  const { light, address, tensor } = element.dataset;
  const found = light ? light.split(/\s+/).filter(Boolean) : [];
  if (address !== undefined) found.push(`@${address}`);
  if (tensor !== undefined) found.push(`@${tensor}`);
  return found;
}

/** Lights what the pointer is on, else what has the focus. */
export class Light {
  private map: LightMap | null = null;
  private lit = new Set<Element>();
  private pointed: Element | null = null;
  private focused: Element | null = null;

  constructor(private readonly main: () => HTMLElement | null, private readonly terms: () => Record<string, string[]>) {
    document.addEventListener("pointerover", (event) => {
      if (event.pointerType !== "touch") this.point(source(event.target));
    });
    document.documentElement.addEventListener("pointerleave", () => this.point(null));
    document.addEventListener("focusin", (event) => this.focus(source(event.target)));
    document.addEventListener("focusout", () => this.focus(null));
    // A finger has no way of pointing but touching; the light stays until the next touch.
    document.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") this.point(source(event.target));
    });
  }

  /** To be called when the page has changed. */
  renew(): void {
    this.map = null;
    this.show(new Set());
    this.pointed = null;
    this.focused = source(document.activeElement);
    this.update();
  }

  /** Forgets what belongs together, since elements have come or gone. */
  stale(): void {
    this.map = null;
  }

  private point(element: Element | null): void {
    if (element === this.pointed) return;
    this.pointed = element;
    this.update();
  }

  private focus(element: Element | null): void {
    if (element === this.focused) return;
    this.focused = element;
    this.update();
  }

  private update(): void {
    const from = this.pointed ?? this.focused;
    const main = this.main();
    if (from === null || main === null) {
      this.show(new Set());
      return;
    }
    this.map ??= new LightMap(main, this.terms());
    this.show(this.map.together(from));
  }

  private show(next: Set<Element>): void {
    for (const element of this.lit) if (!next.has(element)) element.classList.remove("lit");
    for (const element of next) if (!this.lit.has(element)) element.classList.add("lit");
    this.lit = next;
  }
}

/** The innermost element around `target` that lights. An entry's light also shows while a link inside it has the focus. */
function source(target: EventTarget | null): Element | null {
  return target instanceof Element ? target.closest(LIGHTS) : null;
}
