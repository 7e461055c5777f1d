// @vitest-environment jsdom
import { expect, test } from "vitest";
import { applySettings, bytesText } from "./numbers";
import type { ViewData } from "./schema/view";
import { DEFAULTS } from "./settings";

const DATA: ViewData = {
  model: "m", model_title: "M", address: "a", title: "A", kind: "operation", level: "", parent: "", dtype: "bfloat16",
  sizes: {
    hidden_size: { symbol: "d", name: "hidden size", value: 7168 },
    B: { symbol: "B", name: "batch", value: null },
    T: { symbol: "T", name: "positions", value: null },
  },
};

function page(): HTMLElement {
  const root = document.createElement("div");
  root.innerHTML = `
    <span class="dim symbolic" data-expression="B" data-symbol="B" data-name="batch">B batch</span>
    <span class="dim symbolic" data-expression="hidden_size" data-symbol="d" data-value="7168">7168 d</span>
    <span class="dim symbolic" data-expression="2*T" data-symbol="2·T">2·T</span>
    <span class="dim constant" data-value="4">4</span>
    <span class="dtype" data-dtype="bfloat16">bfloat16</span>
    <span class="dtype" data-dtype="float32">float32</span>
    <span class="bytes" data-expression="B*T*hidden_size" data-dtype="bfloat16"></span>
    <span class="bytes" data-elements="1000" data-dtype="bfloat16">2.00 kB</span>
    <span class="bytes" data-elements="1000" data-dtype="float32">4.00 kB</span>`;
  return root;
}

const texts = (root: HTMLElement): string[] => [...root.children].map((child) => child.textContent ?? "");

test("numbers follow the settings, and come back", () => {
  const root = page();
  const before = texts(root);
  applySettings(root, DATA, { ...DEFAULTS, B: 2, T: 5, dtype: "float8_e4m3fn" });
  expect(texts(root)).toEqual(
    ["2 B", "7168 d", "10 2·T", "4", "float8_e4m3fn", "float32", "71.7 kB", "1.00 kB", "4.00 kB"]);
  applySettings(root, DATA, { ...DEFAULTS, shapes: "symbols" });
  expect(texts(root).slice(0, 4)).toEqual(["B", "d", "2·T", "4"]);
  applySettings(root, DATA, { ...DEFAULTS, shapes: "numbers" });
  expect(texts(root).slice(0, 4)).toEqual(["B", "7168", "2·T", "4"]);
  applySettings(root, DATA, DEFAULTS);
  expect(texts(root)).toEqual(before);
});

test("diagrams show numbers in the place of symbols, on the baseline", () => {
  const root = document.createElement("div");
  root.innerHTML = `<svg><text>[<tspan class="dim symbolic" data-expression="hidden_size" data-symbol="d_x"><tspan
    class="math">d</tspan><tspan dy="2" font-size="8">x</tspan></tspan><tspan dy="-2">, </tspan><tspan
    class="dim symbolic" data-expression="B" data-symbol="B"><tspan class="math">B</tspan></tspan>]</text></svg>`;
  const before = root.innerHTML;
  applySettings(root, DATA, DEFAULTS);
  expect(root.innerHTML).toBe(before);
  applySettings(root, DATA, { ...DEFAULTS, shapes: "numbers" });
  expect(root.querySelector("text")!.textContent).toBe("[7168, B]");
  expect(root.querySelectorAll("[dy]")).toHaveLength(0);
  applySettings(root, DATA, { ...DEFAULTS, shapes: "numbers", B: 3 });
  expect(root.querySelector("text")!.textContent).toBe("[7168, 3]");
  applySettings(root, DATA, { ...DEFAULTS, B: 3 });
  expect(root.querySelector("text")!.textContent).toBe("[dx, B]");
  expect(root.querySelectorAll("[dy]")).toHaveLength(2);
});

test.each([[0, "0 B"], [999, "999 B"], [1000, "1.00 kB"], [999_600, "1.00 MB"], [70_272, "70.3 kB"], [2.052e12, "2.05 TB"]])(
  "%d bytes", (bytes, text) => expect(bytesText(bytes)).toBe(text));
