/** `key=value` lines as an object. Throws for a line without `=`. */
export function readPairs(text: string, what: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`${what}: '${line.trim().slice(0, 50)}' is not key=value`);
      return [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}
