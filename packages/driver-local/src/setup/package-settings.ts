import { readFileSync } from "node:fs";

/** A line `name = value` of a file of settings. */
export interface Setting {
  /** The last `[section]` before it; empty before the first. */
  readonly section: string;
  readonly name: string;
  /** Indented lines below it belong to it. */
  readonly value: string;
}

/** Files of settings are small; of a longer one only the beginning is read. */
const MOST_CHARACTERS = 1 << 20;

/** The settings of a file of pip, npm, cargo or go, whose forms have this much in common. None for a file that is absent or cannot be read. */
export function linesOf(file: string): Setting[] {
  const settings: { section: string; name: string; value: string }[] = [];
  let section = "";
  for (const line of textOf(file).split("\n")) {
    const trimmed = line.trim();
    if (trimmed === "" || /^[#;]/.test(trimmed)) continue;
    const last = settings.at(-1);
    if (/^\[.*\]$/.test(trimmed)) section = trimmed.slice(1, -1).trim();
    else if (/^\s/.test(line) && last && last.section === section && !/^[\w@][^\s=]*\s*=/.test(trimmed)) last.value += ` ${trimmed}`;
    else {
      const equals = line.indexOf("=");
      if (equals > 0) settings.push({ section, name: line.slice(0, equals).trim(), value: unquoted(line.slice(equals + 1).trim()) });
    }
  }
  return settings;
}

/** The values that are in force: of settings with the same name in the same section, the last one. */
export function lastSettings(settings: readonly Setting[]): string[] {
  return [...new Map(settings.map(({ section, name, value }) => [`${section} ${name}`, value])).values()];
}

const unquoted = (text: string) => text.replace(/^"/, "").replace(/"$/, "");

function textOf(file: string): string {
  if (file === "") return "";
  try {
    return readFileSync(file, "utf8").slice(0, MOST_CHARACTERS);
  } catch {
    return "";
  }
}
