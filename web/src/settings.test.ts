import { expect, test } from "vitest";
import { DEFAULTS, parseView, viewQuery, type View } from "./settings";

const FULL: View = {
  B: 2, T: 4096, P: 0, dtype: "float32", shapes: "numbers",
  select: "layers/dense/self-attn", plumbing: ["layers/a/out layers/b", "layers/c layers/d"],
};

test("a view survives its address", () => expect(parseView(viewQuery(FULL))).toEqual(FULL));

test("what is as at first leaves no trace", () => {
  expect(viewQuery({ ...DEFAULTS, select: null, plumbing: [] })).toBe("");
});

test("nonsense counts as absent", () => {
  const view = parseView("?b=0&t=-3&p=1e9&dtype=complex%3Cscript%3E&shapes=all");
  expect(view).toEqual({ ...DEFAULTS, select: null, plumbing: [] });
});
