/** Sizes, bytes and element types on the page, as the reader's settings have them. */
import { evaluate, type Sizes } from "./expression";
import type { ViewData } from "./schema/view";
import { ELEMENT_BYTES, RUN_SIZES, type Settings, type Shapes } from "./settings";

const written = new WeakMap<Element, string>();

/** Values of all names at these settings. */
export function sizesAt(data: ViewData, settings: Settings): Sizes {
  const sizes = new Map<string, number>();
  for (const [key, size] of Object.entries(data.sizes)) if (size.value !== null) sizes.set(key, size.value);
  for (const name of RUN_SIZES) {
    const value = settings[name];
    if (value !== null) sizes.set(name, value);
  }
  return sizes;
}

/** Writes every number below `root` anew; texts that the page came with are kept for the way back. */
export function applySettings(root: ParentNode, data: ViewData, settings: Settings): void {
  applySizes(root, data, settings);
  applyBytes(root, data, settings);
}

function applySizes(root: ParentNode, data: ViewData, settings: Settings): void {
  const sizes = sizesAt(data, settings);
  for (const element of root.querySelectorAll<HTMLElement>("span.dim[data-expression]")) {
    write(element, dimensionText(element.dataset, first(element), sizes, settings.shapes));
  }
  // Diagrams have room for one form: symbols as they are set, or numbers.
  for (const element of root.querySelectorAll<SVGElement>("tspan.dim[data-expression]")) {
    const value = settings.shapes === "numbers" ? evaluate(element.dataset["expression"]!, sizes) : null;
    setAxis(element, value === null ? null : String(value));
  }
  for (const element of root.querySelectorAll<HTMLElement>(".elements[data-expression]")) {
    const value = evaluate(element.dataset["expression"]!, sizes);
    write(element, value === null ? first(element) : value.toLocaleString("en"));
  }
  for (const element of root.querySelectorAll<HTMLElement | SVGElement>(".dtype[data-dtype]")) {
    const own = element.dataset["dtype"]!;
    const dtype = typed(own, data, settings);
    write(element, dtype === own ? first(element) : dtype);
  }
}

/** Bytes are written by the front end alone, so also where the reader has set nothing. */
export function applyBytes(root: ParentNode, data: ViewData, settings: Settings): void {
  const sizes = sizesAt(data, settings);
  for (const element of root.querySelectorAll<HTMLElement>(".bytes")) {
    const { elements, expression, dtype } = element.dataset;
    const count = elements !== undefined ? Number(elements) : expression !== undefined ? evaluate(expression, sizes) : null;
    const each = ELEMENT_BYTES[typed(dtype ?? data.dtype ?? "", data, settings)];
    write(element, count === null || each === undefined ? first(element) : bytesText(count * each));
  }
}

/** The type in which something is kept: the reader's choice, where its own is the model's. */
function typed(own: string, data: ViewData, settings: Settings): string {
  return own === data.dtype && settings.dtype !== null ? settings.dtype : own;
}

/** How one axis is written. */
export function dimensionText(
  axis: { readonly [name: string]: string | undefined },
  plain: string,
  sizes: Sizes,
  shapes: Shapes,
): string {
  const value = evaluate(axis["expression"]!, sizes);
  const symbol = axis["symbol"];
  if (shapes === "symbols") return symbol ?? plain;
  if (shapes === "numbers") return value !== null ? String(value) : (symbol ?? plain);
  if (value === null) return plain;
  return symbol === undefined ? String(value) : `${value} ${symbol}`;
}

/** A number of bytes in decimal units, with three figures. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
  let index = 0;
  let value = bytes;
  while (value >= 999.5 && index < units.length - 1) {
    value /= 1000;
    index++;
  }
  const text = index === 0 ? String(value) : value.toPrecision(3);
  return `${text} ${units[index]}`;
}

function first(element: Element): string {
  let text = written.get(element);
  if (text === undefined) {
    text = element.textContent ?? "";
    written.set(element, text);
  }
  return text;
}

function write(element: Element, text: string): void {
  first(element);
  if (element.textContent !== text) element.textContent = text;
}

interface SetAxis {
  nodes: Node[];
  /** How far the axis ends below the baseline, for what follows to make up for. */
  lowered: number;
}

const axes = new WeakMap<Element, SetAxis>();

/** Puts a number in the place of the pieces that an axis of a diagram is set in; `null` brings those back. */
function setAxis(element: SVGElement, text: string | null): void {
  let set = axes.get(element);
  if (set === undefined) {
    if (text === null) return;
    const shifts = [...element.querySelectorAll("tspan[dy]")].map((piece) => Number(piece.getAttribute("dy")));
    set = { nodes: [...element.childNodes], lowered: shifts.reduce((sum, shift) => sum + shift, 0) };
    axes.set(element, set);
  }
  const replaced = element.childNodes[0] !== set.nodes[0];
  if (text === null ? !replaced : replaced && element.textContent === text) return;
  if (replaced !== (text !== null)) shiftNext(element, text === null ? -set.lowered : set.lowered);
  element.replaceChildren(...(text === null ? set.nodes : [text]));
}

/** What follows an axis returns to the baseline from where that ended; without its subscript there is nothing to make up for. */
function shiftNext(element: Element, by: number): void {
  const next = element.nextElementSibling;
  if (by === 0 || next === null || next.tagName !== "tspan") return;
  const shift = Number(next.getAttribute("dy") ?? 0) + by;
  if (Math.abs(shift) < 0.01) next.removeAttribute("dy");
  else next.setAttribute("dy", String(Math.round(shift * 100) / 100));
}

/** Narrows lines of text in diagrams that became wider than the room they have. */
export function fitText(root: ParentNode): void {
  const lines = [...root.querySelectorAll<SVGTextElement>("text[data-fit]")];
  for (const line of lines) line.removeAttribute("textLength");
  const widths = lines.map((line) => line.getComputedTextLength()); // all reads before any write
  lines.forEach((line, index) => {
    const room = Number(line.dataset["fit"]);
    if (widths[index]! > room) {
      line.setAttribute("textLength", String(room));
      line.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  });
}
