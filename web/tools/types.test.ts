import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { GENERATED, generate } from "./types";

test.each(Object.keys(GENERATED) as (keyof typeof GENERATED)[])("the types of %s are current", async (name) => {
  expect(await readFile(GENERATED[name], "utf-8"), "run `npm run types`").toBe(await generate(name));
});
