/** The diagram as a file of its own: SVG with selectable text, or PNG. */

const PROPERTIES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linecap", "stroke-linejoin",
  "opacity", "font-family", "font-size", "font-weight", "font-style", "letter-spacing", "text-anchor", "dominant-baseline", "white-space",
] as const;

const INITIAL: Readonly<Record<string, string>> = {
  "fill-opacity": "1", "stroke-opacity": "1", "stroke-dasharray": "none", "stroke-linecap": "butt", "stroke-linejoin": "miter",
  opacity: "1", "font-style": "normal", "letter-spacing": "normal", "text-anchor": "start", "dominant-baseline": "auto",
  stroke: "none", "white-space": "normal",
};

/** The text of an SVG file which looks as the diagram does now, without the page's style sheets. */
export function standaloneSvg(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  bake(svg, copy);
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.removeAttribute("class");
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", getComputedStyle(document.body).backgroundColor]] as const) {
    paper.setAttribute(name, value);
  }
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** A PNG of twice the size of the diagram. */
export async function png(svg: SVGSVGElement): Promise<Blob> {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standaloneSvg(svg))}`;
  await image.decode();
  const scale = Math.min(2, 8192 / Math.max(image.width, image.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png"),
  );
}

/** Writes computed styles as attributes, and leaves out what is not shown and what only the page needs. */
function bake(original: Element, copy: Element): void {
  const originals = [...original.children];
  const copies = [...copy.children];
  originals.forEach((child, index) => {
    const twin = copies[index]!;
    const style = getComputedStyle(child);
    if (style.display === "none" || child.matches(".hit, .closer")) {
      twin.remove();
      return;
    }
    bake(child, twin);
    if (child instanceof SVGElement) {
      for (const property of PROPERTIES) {
        const value = style.getPropertyValue(property);
        if (value && value !== INITIAL[property]) twin.setAttribute(property, value);
      }
    }
    for (const name of ["class", "tabindex", "role", "aria-current", "aria-expanded", "aria-label"]) twin.removeAttribute(name);
    if (twin.tagName === "a" && twin.hasAttribute("href")) {
      twin.setAttribute("href", new URL(twin.getAttribute("href")!, document.baseURI).href);
    }
  });
}
