/** The boxes and lines of a diagram as a graph, to walk along with the arrow keys. */

export type Direction = "up" | "down" | "left" | "right";

interface Box {
  element: SVGGElement;
  x: number;
  y: number;
}

/** Boxes by address, and which of them lines connect; read from the SVG when it is first needed. */
export class DiagramGraph {
  readonly boxes = new Map<string, Box>();
  private readonly after = new Map<string, Set<string>>();
  private readonly before = new Map<string, Set<string>>();

  constructor(svg: SVGSVGElement) {
    for (const element of svg.querySelectorAll<SVGGElement>("g.node[data-address]")) {
      if (element.closest(".opened:not(.open)")) continue;
      const box = element.getBBox();
      this.boxes.set(element.dataset["address"]!, { element, x: box.x + box.width / 2, y: box.y + box.height / 2 });
    }
    for (const { dataset } of svg.querySelectorAll<SVGGElement>("g.edge")) {
      const source = dataset["source"]!;
      const target = dataset["target"]!;
      if (!this.boxes.has(source) || !this.boxes.has(target)) continue;
      add(this.after, source, target);
      add(this.before, target, source);
    }
  }

  /** Where an arrow key leads from the box at `from`; `null` if nowhere. Without `from`: the first box. */
  step(from: string | null, direction: Direction): string | null {
    const here = from === null ? undefined : this.boxes.get(from);
    if (from === null || here === undefined) return this.first();
    const sideways = direction === "left" || direction === "right";
    const candidates = sideways ? this.beside(from, here, direction) : this.along(from, here, direction);
    return nearest(here, candidates, sideways);
  }

  private first(): string | null {
    let best: string | null = null;
    for (const [address, box] of this.boxes) {
      if (best === null || box.y < this.boxes.get(best)!.y) best = address;
    }
    return best;
  }

  /** Neighbours along lines; where there are none, whatever comes next in this direction. */
  private along(from: string, here: Box, direction: Direction): [string, Box][] {
    const linked = (direction === "down" ? this.after : this.before).get(from);
    if (linked?.size) return [...linked].map((address) => [address, this.boxes.get(address)!]);
    return [...this.boxes].filter(([, box]) => (direction === "down" ? box.y > here.y + 1 : box.y < here.y - 1));
  }

  /** Boxes to one side: those that share a neighbour first, else all at about the same height. */
  private beside(from: string, here: Box, direction: Direction): [string, Box][] {
    const toSide = ([, box]: [string, Box]): boolean => (direction === "left" ? box.x < here.x - 1 : box.x > here.x + 1);
    const related = new Set<string>();
    for (const [links, back] of [[this.before, this.after], [this.after, this.before]] as const) {
      for (const neighbour of links.get(from) ?? []) for (const other of back.get(neighbour) ?? []) related.add(other);
    }
    related.delete(from);
    const siblings = [...related].map((address): [string, Box] => [address, this.boxes.get(address)!]).filter(toSide);
    return siblings.length ? siblings : [...this.boxes].filter((entry) => toSide(entry) && Math.abs(entry[1].y - here.y) < 120);
  }
}

function add(links: Map<string, Set<string>>, from: string, to: string): void {
  const known = links.get(from);
  if (known) known.add(to);
  else links.set(from, new Set([to]));
}

/** Straight on counts more than near by. */
function nearest(here: Box, candidates: [string, Box][], sideways: boolean): string | null {
  let best: string | null = null;
  let least = Infinity;
  for (const [address, box] of candidates) {
    const dx = Math.abs(box.x - here.x);
    const dy = Math.abs(box.y - here.y);
    const cost = sideways ? dx + 2 * dy : dy + 2 * dx;
    if (cost < least) [best, least] = [address, cost];
  }
  return best;
}
