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

/** A page whose level is its parent's may leave the diagram to that page: puts its figure in. */
export async function completeLevel(page: FetchedPage): Promise<void> {
  const figure = page.doc.querySelector<HTMLElement>("#level figure.diagram[data-src]");
  const source = figure?.dataset["src"];
  if (!figure || source === undefined) return;
  const other = await fetchPage(new URL(source, page.address).href.replace(/index\.html$/, ""));
  const found = other.doc.querySelector("#level figure.diagram");
  if (found === null) return;
  makeAbsolute(found, other.address);
  figure.replaceWith(page.doc.adoptNode(found));
  const list = other.doc.querySelector("#level .alternative");
  if (list && !page.doc.querySelector("#level .alternative")) {
    makeAbsolute(list, other.address);
    page.doc.getElementById("level")!.append(page.doc.adoptNode(list));
  }
}
