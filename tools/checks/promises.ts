import { codeOf, lineAt } from "./source-text.ts";

/**
 * Checks of promises that the test does not await. Such a check cannot fail, because the test ends before the promise settles. (biome's
 * `noFloatingPromises` does not find them, because Bun's types give an assertion the type `void`.)
 */
const CHECK = /(?<![\w.$])(?:expect|eventually|staysTrueFor)\(/g;
const OF_PROMISE = /^\s*\.\s*(?:rejects|resolves)\b/;
/** The end of the previous statement: a check that follows it is a statement by itself. After `=>`, `=`, `(` and words the value of a check is used. */
const STATEMENT_ENDS = /(?:^|[;{}]|\)|\belse)\s*$/;
const ARROW_BODY = /=>\s*$/;
const UNUSED_VALUES = /\.forEach\(\s*(?:async )?(?:\([^()]*\)|\w+) =>\s*$/;

const MESSAGE = "a check of a promise that nothing awaits cannot fail: write `await` or `return` before it";

export interface PromiseFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Every `expect(…).rejects`, `expect(…).resolves`, `eventually(…)` and `staysTrueFor(…)` whose value is not used. */
export function checkPromises({ path, text }: { readonly path: string; readonly text: string }): PromiseFinding[] {
  const code = codeOf(text, { keepStrings: false });
  return [...code.matchAll(CHECK)]
    .filter(({ 0: call, index }) => isDropped(code, index) && (call !== "expect(" || isOfPromise(code, index + call.length)))
    .map(({ index }) => ({ path, line: lineAt(code, index), message: MESSAGE }));
}

function isDropped(code: string, index: number): boolean {
  const before = code.slice(Math.max(0, index - 200), index);
  if (ARROW_BODY.test(before)) return UNUSED_VALUES.test(before);
  return STATEMENT_ENDS.test(before);
}

/** True if `.rejects` or `.resolves` follows the call whose arguments begin at `start`. */
function isOfPromise(code: string, start: number): boolean {
  let depth = 1;
  let end = start;
  for (; end < code.length && depth > 0; end++) {
    if (code[end] === "(") depth++;
    if (code[end] === ")") depth--;
  }
  return OF_PROMISE.test(code.slice(end, end + 200));
}
