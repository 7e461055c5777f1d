// @vitest-environment jsdom
import { expect, test } from "vitest";
import { LightMap } from "./light";

document.body.innerHTML = `
  <p><span id="term" data-light="residual attention-add"></span><span id="other" data-light="carried"></span></p>
  <svg><g id="node" data-address="layers/add"></g><g id="edge" data-tensor="layers/output"></g>
    <g id="far" data-address="layers/far"></g></svg>
  <code><span id="code" data-light="@layers/add"></span></code>
  <table><tr id="out" data-light="@layers/output residual"></tr></table>`;

const lights = { residual: ["layers/add", "layers/output"], carried: ["layers/input"] };

function together(id: string): string[] {
  const map = new LightMap(document.body, lights);
  return [...map.together(document.getElementById(id)!)].map((element) => element.id).sort();
}

test.each(["term", "node", "edge", "code", "out"])("%s lights all that belong together", (id) => {
  expect(together(id)).toEqual(["code", "edge", "node", "out", "term"]);
});

test("what belongs to nothing else lights alone", () => {
  expect(together("other")).toEqual(["other"]);
  expect(together("far")).toEqual(["far"]);
});
