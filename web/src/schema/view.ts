/* Generated from docs/schema/view.schema.json by web/tools/types.ts; do not edit. */

/**
 * All of it, as one type to publish.
 */
export interface FrontEnd {
library: LibraryData
search: SearchFile
view: ViewData
}
/**
 * The block of pages that belong to no model.
 */
export interface LibraryData {
models: ModelName[]
}
/**
 * A model of the site: identifier in addresses, and display name.
 */
export interface ModelName {
model: string
title: string
}
/**
 * What search knows of one model.
 */
export interface SearchFile {
entries: [("configuration" | "line" | "mechanism" | "node" | "parameter" | "tensor"), string, string, string, string][]
model: string
title: string
}
/**
 * The block of a node's page.
 * 
 * Attributes:
 *     model, model_title, address, title, kind: of the page's node.
 *     level: address of the level whose diagram the page shows.
 *     parent: address of the enclosing node, ``None`` for the model.
 *     dtype: element type of the published model, which a reader's choice replaces; ``None`` if there is not one.
 *     sizes: names used in expressions of dimensions.
 *     lights: for each term of a formula, the addresses and true names of parameters that it stands for.
 *     latex: formulas of the page, without ``\htmlData``.
 *     models: all models of the site.
 *     markdown: the Markdown twin; in exports only, since pages opened from disk cannot fetch it.
 */
export interface ViewData {
address: string
dtype: (string | null)
kind: string
latex?: string[]
level: string
lights?: {
[k: string]: string[]
}
markdown?: (string | null)
model: string
model_title: string
models?: ModelName[]
parent: (string | null)
sizes: {
[k: string]: SizeName
}
title: string
}
/**
 * How a size is spoken of on pages: symbol ``d``, name ``hidden_size``, value 7168 (``None`` for B, T, P).
 */
export interface SizeName {
name: string
symbol: string
value: (number | null)
}
