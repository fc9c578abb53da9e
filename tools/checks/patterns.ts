import { parse } from "acorn";
import { analyse } from "scslre";

/** Packages whose patterns read untrusted input. (The SDK and the command line client read files of their own user.) */
const CHECKED = /^packages\/(agent|agent-client|core|driver|driver-local|http1|server|spec)\/src\//;
const NOT_SHIPPED = /(\.test|-contract)\.ts$|\/testing\//;

export interface PatternFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

interface Pattern {
  readonly source: string;
  readonly flags: string;
}

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

const transpiler = new Bun.Transpiler({ loader: "ts", target: "bun" });

/**
 * Regular expressions of a file that may take more than linear time: they backtrack, or read the same characters again from each position.
 * With such a pattern one untrusted line can stop the whole server. Of a pattern that is built at run time only the fixed parts are checked.
 */
export function checkPatterns({ path, text }: { readonly path: string; readonly text: string }): PatternFinding[] {
  if (!CHECKED.test(path) || NOT_SHIPPED.test(path)) return [];
  const program = parse(transpiler.transformSync(text), { ecmaVersion: "latest", sourceType: "module" });
  return patternsOf(program as unknown as Node).flatMap((pattern) => {
    const [report] = analyse(pattern, { reportTypes: { Move: true, Self: true, Trade: true } }).reports;
    if (!report) return [];
    const cost = report.exponential ? "exponential" : "quadratic";
    const at = text.indexOf(pattern.source);
    const line = at < 0 ? 1 : text.slice(0, at).split("\n").length;
    return [
      {
        path,
        line,
        message: `/${pattern.source}/ may take ${cost} time: write it without overlapping repetitions, or parse the text without a pattern`,
      },
    ];
  });
}

function patternsOf(node: unknown): Pattern[] {
  if (Array.isArray(node)) return node.flatMap(patternsOf);
  if (typeof node !== "object" || node === null) return [];
  const here = node as Node;
  const own = patternOf(here);
  return [...(own ? [own] : []), ...Object.values(here).flatMap(patternsOf)];
}

function patternOf({ type, regex, callee, arguments: given }: Node): Pattern | undefined {
  if (type === "Literal" && regex) {
    const { pattern, flags } = regex as { pattern: string; flags: string };
    return { source: pattern, flags };
  }
  if ((type !== "NewExpression" && type !== "CallExpression") || (callee as Node).name !== "RegExp") return undefined;
  const [source, flags] = (given as Node[]).map(textOf);
  return source === undefined ? undefined : { source, flags: flags ?? "" };
}

/** The text of a string or template, with a letter in place of each inserted expression. */
function textOf({ type, value, quasis }: Node): string | undefined {
  if (type === "Literal" && typeof value === "string") return value;
  if (type !== "TemplateLiteral") return undefined;
  return (quasis as { value: { cooked: string } }[]).map((part) => part.value.cooked).join("x");
}
