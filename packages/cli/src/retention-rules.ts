import { AppError } from "@boxyard/core";
import type { Retention } from "@boxyard/sdk/teams";

const KINDS: readonly string[] = ["paused", "snapshots", "builds", "recordings"];
const NAMES: readonly string[] = ["maxAgeHours", "maxCount", "maxMB"];

/** What a help text says of the rules. */
export const RULES_HELP =
  "Kinds: paused, snapshots, builds, recordings. Names: maxAgeHours, maxCount, maxMB. warnHours=NUMBER: when an event announces a deletion.";

/** `paused.maxCount=3 warnHours=1` as the API takes it. Throws `invalid_argument` for a word that is no rule: the server passes over names that it does not know. */
export function rulesOf(words: readonly string[]): Retention {
  const rules: Record<string, number | Record<string, number>> = {};
  for (const word of words) {
    const [, kind, name = "", value = ""] = /^(?:(\w+)\.)?(\w+)=(\d+)$/.exec(word) ?? [];
    const isRule = kind === undefined ? name === "warnHours" : KINDS.includes(kind) && NAMES.includes(name);
    if (!isRule)
      throw new AppError("invalid_argument", `'${word}' is no rule: give KIND.NAME=NUMBER. ${RULES_HELP}`, { reason: "bad_rule" });
    if (kind === undefined) rules[name] = Number(value);
    else rules[kind] = { ...(rules[kind] as object | undefined), [name]: Number(value) };
  }
  return rules as Retention;
}
