/** What the reader has set, as it stands in the query of the address. */

export type Shapes = "both" | "symbols" | "numbers";

/** Batch, positions, cache length (`null`: as symbols), element type (`null`: the published one), how shapes are written. */
export interface Settings {
  B: number | null;
  T: number | null;
  P: number | null;
  dtype: string | null;
  shapes: Shapes;
}

/** A view of a page: settings, the selected node (`null`: the page's own) and the open stretches of plumbing. */
export interface View extends Settings {
  select: string | null;
  plumbing: readonly string[];
}

export const RUN_SIZES = ["B", "T", "P"] as const;

export const DEFAULTS: Settings = { B: null, T: null, P: null, dtype: null, shapes: "both" };

/** Bytes of one element, by type. */
export const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  float64: 8, int64: 8, complex64: 8, float32: 4, int32: 4, uint32: 4, bfloat16: 2, float16: 2, int16: 2, uint16: 2,
  float8_e4m3fn: 1, float8_e5m2: 1, int8: 1, uint8: 1, bool: 1, float4_e2m1fn_x2: 0.5, int4: 0.5,
};

/** Types a reader can choose for what the model keeps in its own type. */
export const CHOICES = ["float32", "bfloat16", "float16", "float8_e4m3fn", "int8", "int4"] as const;

/** The view that a query stands for; what is not understood counts as absent. */
export function parseView(query: string): View {
  const given = new URLSearchParams(query);
  const size = (key: string): number | null => {
    const text = given.get(key);
    return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
  };
  const shapes = given.get("shapes");
  const dtype = given.get("dtype");
  return {
    B: size("b") || null, // a batch or sequence of none is none that anybody sets
    T: size("t") || null,
    P: size("p"),
    dtype: dtype !== null && (CHOICES as readonly string[]).includes(dtype) ? dtype : null,
    shapes: shapes === "symbols" || shapes === "numbers" ? shapes : "both",
    select: given.get("select"),
    plumbing: given.getAll("plumbing"),
  };
}

/** The query of a view, with its question mark; empty if everything is as at first. */
export function viewQuery(view: View): string {
  const query = new URLSearchParams();
  if (view.select !== null) query.set("select", view.select);
  for (const stretch of view.plumbing) query.append("plumbing", stretch);
  for (const name of RUN_SIZES) if (view[name] !== null) query.set(name.toLowerCase(), String(view[name]));
  if (view.dtype !== null) query.set("dtype", view.dtype);
  if (view.shapes !== "both") query.set("shapes", view.shapes);
  const text = query.toString().replaceAll("%2F", "/");
  return text ? `?${text}` : "";
}
