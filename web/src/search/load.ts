/** Loads search entries when search is first opened, by script tags, which work from disk too. */
import type { SearchFile } from "../schema/view";
import { ModelIndex } from "./engine";

declare global {
  var omaSearch: ((file: SearchFile) => void) | undefined;
}

const waiting = new Map<string, Promise<ModelIndex>>();
const arrived = new Map<string, SearchFile>();

globalThis.omaSearch = (file) => arrived.set(file.model, file);

/** The index of one model; loaded and made once. Rejects if the site has no entries for it. */
export function loadIndex(root: string, model: string): Promise<ModelIndex> {
  let found = waiting.get(model);
  if (found === undefined) {
    found = load(root, model);
    waiting.set(model, found);
    found.catch(() => waiting.delete(model));
  }
  return found;
}

async function load(root: string, model: string): Promise<ModelIndex> {
  await new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}_assets/search/${model}.js`;
    script.addEventListener("load", () => resolve());
    script.addEventListener("error", () => reject(new Error(`The search entries of ${model} cannot be loaded.`)));
    document.head.append(script);
    script.addEventListener("load", () => script.remove());
  });
  const file = arrived.get(model);
  if (file === undefined) throw new Error(`The search entries of ${model} are damaged.`);
  const index = new ModelIndex(file);
  await index.fill();
  return index;
}
