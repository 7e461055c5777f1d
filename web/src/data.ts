/** What the page says of itself: attributes of the body, and its JSON block. */
import type { LibraryData, ViewData } from "./schema/view";

/** The block of a page of a node; `null` on other pages. */
export function readView(doc: Document): ViewData | null {
  const data = readBlock(doc);
  return data !== null && "address" in data ? data : null;
}

/** The models of the site. */
export function readModels(doc: Document): LibraryData["models"] {
  return readBlock(doc)?.models ?? [];
}

function readBlock(doc: Document): ViewData | LibraryData | null {
  const text = doc.getElementById("oma-page")?.textContent;
  return text ? (JSON.parse(text) as ViewData | LibraryData) : null;
}

/** Absolute address of the root of the site, with a slash at the end. */
export function siteRoot(doc: Document): string {
  return new URL(doc.body.dataset["root"] || "./", location.href).href.replace(/[?#].*$/, "");
}

/** Absolute address of the page of a node. Names that Windows reserves have an underscore in addresses of pages. */
export function pageAddress(root: string, model: string, address: string): string {
  const devices = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])$/;
  const parts = address ? address.split("/").map((part) => (devices.test(part) ? `${part}_` : part)) : [];
  const name = location.protocol === "file:" ? "index.html" : "";
  return `${root}${[model, ...parts].join("/")}/${name}`;
}

/** Whether pages can be fetched: not when they were opened from disk. */
export const canFetch = location.protocol !== "file:";
