/**
 * Fixed times in tests. A test waits for a state with a deadline (`eventually`), or proves that a state stays (`staysTrueFor`); a time that is
 * right on one machine is wrong on a slower one, and too long on every other. Where nothing but time can be waited for, a comment says why.
 */
const SLEEP = /(?<![\w.])(?:Bun\.sleep|sleep)\((?!0\))|\bsetTimeout\((?:resolve|done)\b(?!, 0\))/;
/** The end of a wait for something else. */
const DEADLINE = /Promise\.race\(|\bsleep\([^)]*\)\.then\(|=> sleep|sleep = |const timer = /;
/** A stream that is pulled from is a loop too. */
const LOOP = /^\s*(?:\}? ?(?:for|while) ?(?:await )?\(|do \{|async pull\()/;
/** On the line of the sleep or on the one above it. */
const REASON = /\/\/ Time alone: \w/;

export interface SleepFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export const isTestCode = (path: string): boolean => /\.test\.tsx?$|^e2e\/.*\.ts$|\/testing\/|^packages\/testkit\//.test(path);

/** Every wait for a fixed time. In a loop it is the pause between two looks at a state, which is fine. */
export function checkSleeps({ path, text }: { readonly path: string; readonly text: string }): SleepFinding[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (!SLEEP.test(line) || DEADLINE.test(line) || /\b(?:for|while) \(/.test(line) || isInLoop(lines, index)) return [];
    if (REASON.test(line) || REASON.test(lines[index - 1] ?? "")) return [];
    const message =
      "a fixed time: wait for a state with `eventually`, prove with `staysTrueFor` that it stays, or say why in a comment `// Time alone: …`";
    return [{ path, line: index + 1, message }];
  });
}

const indentOf = (line: string) => line.length - line.trimStart().length;

/** Code is formatted, so what encloses a line stands above it with less indentation. */
function isInLoop(lines: readonly string[], index: number): boolean {
  let indent = indentOf(lines[index] ?? "");
  for (let i = index - 1; i >= 0 && indent > 0; i--) {
    const line = lines[i] ?? "";
    if (line.trim() === "" || indentOf(line) >= indent) continue;
    if (LOOP.test(line)) return true;
    indent = indentOf(line);
  }
  return false;
}
