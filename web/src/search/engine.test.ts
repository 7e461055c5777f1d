import { beforeAll, expect, test } from "vitest";
import type { SearchFile } from "../schema/view";
import { ModelIndex, searchAll, words } from "./engine";

const FILE: SearchFile = {
  model: "kimi-k2",
  title: "Kimi K2",
  entries: [
    ["node", "Attention", "61 transformer blocks › 1 dense block", "self_attn DeepseekV3Attention", "kimi-k2/layers/dense/self-attn/index.html"],
    ["tensor", "Block output", "61 transformer blocks › 1 dense block", "hidden_states", "kimi-k2/layers/dense/output/index.html"],
    ["parameter", "model.layers.*.self_attn.q_a_proj.weight", "[1536, 7168]", "", "kimi-k2/layers/dense/self-attn/q-a-proj/index.html"],
    ["configuration", "rms_norm_eps", "1e-06", "", "kimi-k2/index.html"],
    ["line", "hidden_states = residual + hidden_states", "modeling_deepseek.py 1218", "", "kimi-k2/layers/dense/add/index.html#L1218"],
    ["mechanism", "RMSNorm", "norm", "root mean square", "kimi-k2/layers/dense/input-layernorm/index.html"],
  ],
};
let index: ModelIndex;

beforeAll(async () => {
  index = new ModelIndex(FILE);
  await index.fill();
});

const first = (query: string): string | undefined => searchAll([index], query, 5)[0]?.title;

test.each([
  ["block output", "Block output"],
  ["blok outptu", "Block output"],
  ["atention", "Attention"],
  ["q_a_proj", "model.layers.*.self_attn.q_a_proj.weight"],
  ["layers.0.self_attn.q_a", undefined],
  ["self_attn.q_a_proj.weight", "model.layers.*.self_attn.q_a_proj.weight"],
  ["rmsnorm", "RMSNorm"],
  ["rms_norm_e", "rms_norm_eps"],
  ["eps", "rms_norm_eps"],
  ["residual + hidden", "hidden_states = residual + hidden_states"],
  ["1218", "hidden_states = residual + hidden_states"],
  ["DeepseekV3Atten", "Attention"],
  ["", undefined],
  ["zzzz", undefined],
])("%s finds %s", (query, title) => expect(first(query)).toBe(title));

test("identifiers are found whole and in parts", () => {
  expect(words("DeepseekV3RMSNorm q_a_proj")).toEqual(
    expect.arrayContaining(["deepseekv3rmsnorm", "deepseek", "norm", "q", "a", "proj"]));
});
