import { expect, test } from "vitest";
import { evaluate } from "./expression";

const SIZES = new Map([
  ["hidden_size", 7168],
  ["num_attention_heads", 64],
  ["qk_nope_head_dim", 128],
  ["qk_rope_head_dim", 64],
  ["T", 10],
  ["zero", 0],
  ["linear_attn_config.head_dim", 128],
]);

test.each([
  ["hidden_size", 7168],
  ["num_attention_heads*(qk_nope_head_dim + qk_rope_head_dim)", 12288],
  ["2*T - 1", 19],
  ["-T + 12", 2],
  ["T//3", 3],
  ["ceil(T, 3)", 4],
  ["min(T, 7)*2", 14],
  ["max(T, hidden_size, 3)", 7168],
  ["-(T - 12)//4", 1],
  ["linear_attn_config.head_dim // 2", 64],
  ["T*(-2)", -20],
  ["12//5//2", 1],
])("%s", (text, value) => expect(evaluate(text, SIZES)).toBe(value));

test.each([
  "B*hidden_size", // B has no value
  "T//zero",
  "ceil(T, zero)",
  "T +",
  "(T",
  "T)",
  "alert(1)",
  "T ** 2",
  "constructor",
  "",
])("%s has no value", (text) => expect(evaluate(text, SIZES)).toBeNull());
