/** Types of the front end, generated from the published JSON schemas: `npm run types`. */
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { compile, type JSONSchema } from "json-schema-to-typescript";

export const GENERATED = { view: new URL("../src/schema/view.ts", import.meta.url) } as const;

/** The text of the generated file for one schema of `docs/schema`. */
export async function generate(name: keyof typeof GENERATED): Promise<string> {
  const source = new URL(`../../docs/schema/${name}.schema.json`, import.meta.url);
  const schema = older(JSON.parse(await readFile(source, "utf-8")));
  // A root that is a reference is not understood: what it refers to becomes the root.
  const { $ref, ...rest } = schema;
  const root = { ...rest, ...rest.$defs[String($ref).split("/").at(-1)!] };
  return compile(root as JSONSchema, name, {
    additionalProperties: false,
    bannerComment: `/* Generated from docs/schema/${name}.schema.json by web/tools/types.ts; do not edit. */`,
    format: false,
    strictIndexSignatures: false,
  });
}

/** The schema in the words of the draft which the compiler knows: tuples are `items`, not `prefixItems`. */
function older(node: any): any {
  if (Array.isArray(node)) return node.map(older);
  if (node === null || typeof node !== "object") return node;
  const { prefixItems, ...rest } = node;
  const known = Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, older(value)]));
  return prefixItems ? { ...known, items: older(prefixItems), additionalItems: false } : known;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  for (const [name, place] of Object.entries(GENERATED)) {
    await writeFile(place, await generate(name as keyof typeof GENERATED));
  }
}
