import type { Verdict } from "./bench.ts";

const NUMBER = /\d[\d,]*(?:\.\d+)?/;
const LIMIT = new RegExp(`([≤≥]) (${NUMBER.source})`);

const numberIn = (text: string): number | undefined => {
  const found = NUMBER.exec(text)?.[0];
  return found === undefined ? undefined : Number(found.replaceAll(",", ""));
};

/**
 * How much of what is promised was needed: 1 is exactly the limit, 0.5 half of what is allowed, 2 twice that. Read from the two texts of a verdict, whose
 * units are the same; undefined for a promise without a number after `≤` or `≥`.
 */
export function ratioOf({ promise, measured }: Pick<Verdict, "promise" | "measured">): number | undefined {
  const [, sign, text = ""] = LIMIT.exec(promise) ?? [];
  const [limit, value] = [numberIn(text), numberIn(measured)];
  if (limit === undefined || value === undefined) return undefined;
  const ratio = sign === "≤" ? value / limit : limit / value;
  return Number.isFinite(ratio) ? Math.round(ratio * 100) / 100 : undefined;
}
