/** Evaluates dimension expressions; the grammar is that of `shapes/expression.py`. */

export type Sizes = ReadonlyMap<string, number>;

type Compiled = (sizes: Sizes) => number | null;

const compiled = new Map<string, Compiled | null>();
const TOKEN = /\s*(?:(\d+)|([A-Za-z_][\w.]*)|(\/\/|[-+*(),]))/y;

/** The value of `text` in elements; `null` where a name has no value, a divisor is 0 or the text is no expression. */
export function evaluate(text: string, sizes: Sizes): number | null {
  let run = compiled.get(text);
  if (run === undefined) {
    run = compile(text);
    compiled.set(text, run);
  }
  return run === null ? null : run(sizes);
}

function compile(text: string): Compiled | null {
  const tokens = tokenize(text);
  if (tokens === null) return null;
  const parser = new Parser(tokens);
  try {
    const result = parser.sum();
    return parser.done ? result : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function tokenize(text: string): string[] | null {
  const found: string[] = [];
  const end = text.trimEnd().length;
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < end) {
    const match = TOKEN.exec(text);
    if (match === null) return null;
    found.push(match[0].trim());
  }
  return found.length ? found : null;
}

class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  get done(): boolean {
    return this.at === this.tokens.length;
  }

  /** `[-] product ((+ | -) product)*` */
  sum(): Compiled {
    const negative = this.take("-");
    const first = this.product();
    let result: Compiled = negative ? lift([first], ([value]) => -value!) : first;
    for (;;) {
      if (this.take("+")) result = lift([result, this.product()], ([a, b]) => a! + b!);
      else if (this.take("-")) result = lift([result, this.product()], ([a, b]) => a! - b!);
      else return result;
    }
  }

  private product(): Compiled {
    let result = this.factor();
    for (;;) {
      if (this.take("*")) result = lift([result, this.factor()], ([a, b]) => a! * b!);
      else if (this.take("//")) result = lift([result, this.factor()], ([a, b]) => (b === 0 ? null : Math.floor(a! / b!)));
      else return result;
    }
  }

  private factor(): Compiled {
    const token = this.tokens[this.at++];
    if (token === undefined) throw new SyntaxError("The expression ends too early.");
    if (token === "(") {
      const inner = this.sum();
      this.expect(")");
      return inner;
    }
    if (token === "-") {
      return lift([this.factor()], ([value]) => -value!);
    }
    if (/^\d/.test(token)) {
      const value = Number(token);
      return () => value;
    }
    if (!/^[A-Za-z_]/.test(token)) throw new SyntaxError(`${token} is not expected here.`);
    if (!this.take("(")) return (sizes) => sizes.get(token) ?? null;
    return call(token, this.options());
  }

  private options(): Compiled[] {
    const found = [this.sum()];
    while (this.take(",")) found.push(this.sum());
    this.expect(")");
    return found;
  }

  private take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw new SyntaxError(`${token} is missing.`);
  }
}

function call(name: string, options: Compiled[]): Compiled {
  if (name === "min") return lift(options, (values) => Math.min(...values));
  if (name === "max") return lift(options, (values) => Math.max(...values));
  if (name === "ceil" && options.length === 2) {
    return lift(options, ([a, b]) => (b === 0 ? null : Math.ceil(a! / b!)));
  }
  throw new SyntaxError(`${name} is no function of this grammar.`);
}

function lift(parts: Compiled[], combine: (values: number[]) => number | null): Compiled {
  return (sizes) => {
    const values: number[] = [];
    for (const part of parts) {
      const value = part(sizes);
      if (value === null) return null;
      values.push(value);
    }
    return combine(values);
  };
}
