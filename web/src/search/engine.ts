/** Finds entries of one or all models: words by their beginning, with slips of the fingers, best first. */
import MiniSearch, { type SearchOptions } from "minisearch";
import type { SearchFile } from "../schema/view";

export type EntryKind = SearchFile["entries"][number][0];

export interface Hit {
  model: string;
  modelTitle: string;
  kind: EntryKind;
  title: string;
  where: string;
  link: string;
  score: number;
}

interface Entry {
  id: number;
  title: string;
  where: string;
  text: string;
}

/** What counts more when words fit equally well. */
const KIND_WEIGHT: Readonly<Record<EntryKind, number>> = {
  node: 1.3, mechanism: 1.3, parameter: 1.1, tensor: 1, configuration: 1, line: 0.55,
};

/** The words of a text: identifiers whole and in their parts, in lower case. */
export function words(text: string): string[] {
  const found = new Set<string>();
  for (const whole of text.match(/[\p{L}\p{N}_.]+/gu) ?? []) {
    const pieces = whole.split(/[._]+/).filter(Boolean);
    for (const piece of pieces) {
      found.add(piece.toLowerCase());
      const parts = piece.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{N}+/gu) ?? [];
      if (parts.length > 1) for (const part of parts) found.add(part.toLowerCase());
    }
  }
  return [...found];
}

/** The words of a query: split where identifiers are joined, but not within them. */
export function queryWords(query: string): string[] {
  return (query.match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
}

/** The entries of one model. */
export class ModelIndex {
  private readonly index = new MiniSearch<Entry>({
    fields: ["title", "where", "text"],
    storeFields: [],
    tokenize: words,
    processTerm: (term) => term,
  });
  private readonly titles: string[];
  private readonly weights: number[];

  constructor(readonly file: SearchFile) {
    this.titles = file.entries.map(([, title]) => title.toLowerCase());
    this.weights = file.entries.map(([kind, , where, , link]) => {
      const step = link.startsWith(`${file.model}/decode/`) ? 0.7 : 1; // the same again, in the decode step
      return (KIND_WEIGHT[kind] * step) / (1 + 0.06 * where.split("›").length);
    });
  }

  /** Indexes the entries in slices, so that the page stays responsive. */
  async fill(): Promise<void> {
    const entries = this.file.entries.map(([, title, where, text], id): Entry => ({ id, title, where, text }));
    await this.index.addAllAsync(entries, { chunkSize: 400 });
  }

  search(query: string, most: number): Hit[] {
    const wanted = query.trim().toLowerCase();
    const boostDocument = (id: unknown): number => this.weight(id as number, wanted);
    // A single letter begins words everywhere: what is meant is a title. Places are shared by very many entries, so that
    // they are looked at only where names do not find enough.
    const fields = wanted.length > 1 ? ["title", "text"] : ["title"];
    let found = this.index.search(query, { ...OPTIONS, fields, boostDocument });
    if (found.length < most && wanted.length > 1) found = this.index.search(query, { ...OPTIONS, boostDocument });
    return found.slice(0, most).map((result) => this.hit(result.id as number, result.score));
  }

  private weight(id: number, wanted: string): number {
    const title = this.titles[id]!;
    const named = title.startsWith(wanted) ? (title.length === wanted.length ? 4 : 1.6) : 1;
    return this.weights[id]! * named;
  }

  private hit(id: number, score: number): Hit {
    const [kind, title, where, , link] = this.file.entries[id]!;
    return { model: this.file.model, modelTitle: this.file.title, kind, title, where, link, score };
  }
}

const OPTIONS: SearchOptions = {
  combineWith: "AND",
  tokenize: queryWords,
  // A lone letter within a query is a whole word (`q_a_proj`); at its end it may be the beginning of one.
  prefix: (term, index, terms) => term.length > 1 || index === terms.length - 1,
  fuzzy: (term) => (term.length < 4 || /^\d+$/.test(term) ? false : term.length < 6 ? 1 : 2),
  maxFuzzy: 2,
  boost: { title: 4, text: 1.5, where: 1 },
  weights: { fuzzy: 0.3, prefix: 0.6 },
};

/** The best of several models. */
export function searchAll(indexes: readonly ModelIndex[], query: string, most: number): Hit[] {
  if (queryWords(query).length === 0) return [];
  const hits = indexes.flatMap((index) => index.search(query, most));
  return hits.sort((a, b) => b.score - a.score).slice(0, most);
}
