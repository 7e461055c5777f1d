/** Fetches pages and puts their parts into the document. */

const KEPT = 80;
const texts = new Map<string, Promise<string>>();

/** A fetched page, and the address that its links are relative to. */
export interface FetchedPage {
  doc: Document;
  address: string;
}

/** The page at an address without query; fetched once, parsed each time, since its parts are moved out of it. */
export async function fetchPage(address: string): Promise<FetchedPage> {
  return { doc: new DOMParser().parseFromString(await fetchText(address), "text/html"), address };
}

/** Starts fetching a page that the reader may go to next. */
export function prefetch(address: string): void {
  fetchText(address).catch(() => undefined);
}

async function fetchText(address: string): Promise<string> {
  const known = texts.get(address);
  if (known) return known;
  const found = fetch(address, { headers: { Accept: "text/html" } }).then((response) => {
    if (!response.ok) throw new Error(`${address} answers ${response.status}`);
    return response.text();
  });
  texts.set(address, found);
  found.catch(() => texts.delete(address));
  if (texts.size > KEPT) texts.delete(texts.keys().next().value!);
  return found;
}

/** Makes links below `root`, which are relative to `base`, independent of the address of the document. */
export function makeAbsolute(root: Element, base: string): void {
  for (const element of root.querySelectorAll("a[href], link[href]")) {
    const href = element.getAttribute("href")!;
    if (!href.startsWith("#")) element.setAttribute("href", new URL(href, base).href);
  }
  for (const element of root.querySelectorAll("img[src]")) {
    element.setAttribute("src", new URL(element.getAttribute("src")!, base).href);
  }
}

/** Replaces the element that `selector` finds in the document by that of a fetched page; the new one, if there is one. */
export function replacePart(selector: string, page: FetchedPage): HTMLElement | null {
  const next = page.doc.querySelector<HTMLElement>(selector);
  const old = document.querySelector(selector);
  if (next === null || old === null) {
    old?.replaceChildren();
    return null;
  }
  const part = document.adoptNode(next);
  makeAbsolute(part, page.address);
  old.replaceWith(part);
  return part;
}

/** Adds the style sheets of a fetched page which the document does not have. */
export function addStyles(page: FetchedPage): void {
  const known = new Set([...document.querySelectorAll<HTMLLinkElement>('link[rel="stylesheet"]')].map((link) => link.href));
  for (const link of page.doc.querySelectorAll('link[rel="stylesheet"]')) {
    const address = new URL(link.getAttribute("href")!, page.address).href;
    if (known.has(address)) continue;
    const added = document.createElement("link");
    added.rel = "stylesheet";
    added.href = address;
    document.head.append(added);
  }
}

/** Replaces what header and footer say of the page; tools and switches that scripts put there stay. */
export function replaceFrame(page: FetchedPage): void {
  for (const selector of ["body > header.top > .brand", "body > header.top > .twins", "body > footer.bottom"]) {
    const next = page.doc.querySelector(selector);
    if (next === null) continue;
    const part = document.adoptNode(next);
    makeAbsolute(part, page.address);
    document.querySelector(selector)?.replaceWith(part);
  }
}

/**
 * Pages of exports leave the diagram of their level to a script that lies beside the level's own page, since scripts load
 * from disk too: puts it in. Tells whether there was something to do.
 */
export async function completeLevel(doc: Document, address: string): Promise<boolean> {
  const figure = doc.querySelector<HTMLElement>("#level figure.diagram[data-src]");
  const source = figure?.dataset["src"];
  if (!figure || source === undefined) return false;
  const place = new URL(source, address).href;
  const drawing = new DOMParser().parseFromString(await loadDrawing(place, figure.dataset["level"] ?? ""), "text/html").body;
  makeAbsolute(drawing, place);
  figure.replaceChildren(...[...drawing.childNodes].map((node) => doc.adoptNode(node)));
  figure.removeAttribute("data-src");
  return true;
}

declare global {
  var omaDiagram: ((level: string, drawing: string) => void) | undefined;
}

const drawings = new Map<string, string>();
globalThis.omaDiagram = (level, drawing) => drawings.set(level, drawing);

async function loadDrawing(address: string, level: string): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("load", () => (script.remove(), resolve()));
    script.addEventListener("error", () => (script.remove(), reject(new Error(`${address} cannot be loaded.`))));
    document.head.append(script);
  });
  const found = drawings.get(level);
  if (found === undefined) throw new Error(`${address} is damaged.`);
  drawings.delete(level);
  return found;
}
