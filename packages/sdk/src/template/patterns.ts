const SPECIAL = /[\\^$.*+?()[\]{}|]/;

/** `*` and `?` stay within one name, `**` crosses them, `[…]` is a class. */
function expressionOf(pattern: string): string {
  let text = "";
  for (let i = 0; i < pattern.length; i++) {
    const char = pattern.charAt(i);
    if (char === "*" && pattern.charAt(i + 1) === "*") {
      i++;
      // `**/` also matches nothing, so that `**/x` finds a top-level x.
      if (pattern.charAt(i + 1) === "/") {
        i++;
        text += "(?:.*/)?";
      } else text += ".*";
    } else if (char === "*") text += "[^/]*";
    else if (char === "?") text += "[^/]";
    else if (char === "[") {
      const end = pattern.indexOf("]", i + 2);
      if (end < 0) text += "\\[";
      else {
        const inside = pattern
          .slice(i + 1, end)
          .replace(/\\/g, "\\\\")
          .replace(/\[/g, "\\[");
        text += `[${inside.startsWith("!") ? `^${inside.slice(1)}` : inside}]`;
        i = end;
      }
    } else text += SPECIAL.test(char) ? `\\${char}` : char;
  }
  return text;
}

/** True when a text is more than a plain path. */
export const isPattern = (text: string): boolean => /[*?[]/.test(text);

/** A path without `.`, empty parts and slashes around it. */
export function cleanPath(path: string): string {
  return path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
}

/** Matches paths that a pattern names. */
export function matcher(pattern: string): (path: string) => boolean {
  const expression = new RegExp(`^${expressionOf(cleanPath(pattern))}$`);
  return (path) => expression.test(path);
}

/**
 * Says which paths `.dockerignore` leaves out. A pattern also covers what is below the directory it names; the last one that matches decides; `!`
 * includes again. Comments begin with `#`.
 */
export function ignoreRules(text: string): { ignores(path: string): boolean; readonly hasExceptions: boolean } {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const rules = lines
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const negated = line.startsWith("!");
      return { negated, expression: new RegExp(`^${expressionOf(cleanPath(negated ? line.slice(1).trim() : line))}(?:/.*)?$`) };
    });
  return {
    ignores: (path) => rules.reduce((ignored, { negated, expression }) => (expression.test(path) ? !negated : ignored), false),
    hasExceptions: rules.some(({ negated }) => negated),
  };
}
