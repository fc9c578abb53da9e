/**
 * Waits for a fixed time in tests. A test should wait for a state with a deadline (`eventually`), or prove that a state stays (`staysTrueFor`). A
 * fixed time is too short on a slow machine, and longer than necessary on the others. If a test can only wait for a time, a comment says why.
 */
const SLEEP = /(?<![\w.])(?:Bun\.sleep|sleep)\((?!0\))|\bsetTimeout\((?:resolve|done)\b(?!, 0\))/;
/** A sleep of one digit of seconds in a shell command, with another command after it. No test waits for a longer sleep. */
const SHELL_SLEEP = /\bsleep (?:\d|\d?\.\d+) ?(?:;|&&)(?! ?(?:fi; ?)?done)/g;
const SHELL_LOOP = /\b(?:while|until|for|done)\b/g;
/** The end of a wait for something else. */
const DEADLINE = /Promise\.race\(|\bsleep\([^)]*\)\.then\(|=> sleep|sleep = |const timer = /;
/** `pull` of a stream is a loop too. */
const LOOP = /^\s*(?:\}? ?(?:for|while) ?(?:await )?\(|do \{|async pull\()/;
/** On the line of the sleep or on the one above it. */
const REASON = /\/\/ Time alone: \w/;

const MESSAGE =
  "waits for a fixed time: wait for a state with `eventually`, prove with `staysTrueFor` that it stays, or say why in a comment `// Time alone: …`";

export interface SleepFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

export const isTestCode = (path: string): boolean => /\.test\.tsx?$|^e2e\/.*\.ts$|\/testing\/|^packages\/testkit\//.test(path);

/** Every wait for a fixed time. In a loop a fixed time is the pause between two checks of a state, which is fine. */
export function checkSleeps({ path, text }: { readonly path: string; readonly text: string }): SleepFinding[] {
  const lines = text.split("\n");
  return lines.flatMap((line, index) => {
    if (isReasoned(lines, index)) return [];
    if (hasShellSleep(line)) return [{ path, line: index + 1, message: MESSAGE }];
    if (!SLEEP.test(line) || DEADLINE.test(line) || /\b(?:for|while) \(/.test(line) || isInLoop(lines, index)) return [];
    return [{ path, line: index + 1, message: MESSAGE }];
  });
}

const isReasoned = (lines: readonly string[], index: number) => [lines[index], lines[index - 1]].some((line) => REASON.test(line ?? ""));

/** True if a line has a sleep of a shell outside of the shell's loops. */
const hasShellSleep = (line: string) =>
  [...line.matchAll(SHELL_SLEEP)].some(({ index }) => {
    const last = [...line.slice(0, index).matchAll(SHELL_LOOP)].at(-1)?.[0] ?? "done";
    return last === "done";
  });

const indentOf = (line: string) => line.length - line.trimStart().length;

/** True if a loop encloses the line. The code is formatted, so an enclosing statement is above the line, with less indentation. */
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
