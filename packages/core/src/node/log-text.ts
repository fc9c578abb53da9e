/** Names of pino's levels. */
const LEVELS: Readonly<Record<number, string>> = { 10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARN", 50: "ERROR", 60: "FATAL" };
const SHOWN_ELSEWHERE = new Set(["level", "time", "msg", "err", "name"]);

/** A line of a log, as JSON, for people: time, level, message, then its fields; an error with its stack below. What is no such line stays as it is. */
export function logLineAsText(line: string): string {
  const entry = parse(line);
  if (!entry) return line;
  const at = new Date(entry.time as string | number);
  const time = Number.isNaN(at.getTime()) ? "--:--:--" : at.toISOString().slice(11, 19);
  const fields = Object.entries(entry)
    .filter(([name]) => !SHOWN_ELSEWHERE.has(name))
    .map(([name, value]) => ` ${name}=${shown(value)}`);
  const { message, stack } = (entry.err ?? {}) as { message?: unknown; stack?: unknown };
  const why = typeof message === "string" && message !== entry.msg ? `: ${message}` : "";
  const below = typeof stack === "string" ? stack.split("\n").slice(1) : [];
  const level = LEVELS[Number(entry.level)] ?? String(entry.level);
  return [`${time} ${level.padEnd(5)} ${String(entry.msg ?? "")}${why}${fields.join("")}`, ...below].join("\n");
}

function parse(line: string): Readonly<Record<string, unknown>> | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const value = JSON.parse(line) as Record<string, unknown>;
    return "level" in value ? value : undefined;
  } catch {
    return undefined;
  }
}

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}
