import { z } from "zod";
import { parseListed } from "./registry-hosts.ts";

/** Values separated by commas. */
export const list = (isGood: (entry: string) => boolean, message: string) =>
  z
    .string()
    .default("")
    .transform((text) => text.split(",").flatMap((entry) => entry.trim() || []))
    .refine((entries) => entries.every(isGood), message);

/** Hosts that the operator lists: `[http://]HOST[:PORT]`. */
export const listedHosts = list(isListed, "must be HOST or HOST:PORT, each with http:// before it if need be, separated by commas");

function isListed(entry: string): boolean {
  try {
    return parseListed(entry).hostname !== "";
  } catch {
    return false;
  }
}

/** `NAME=VALUE` entries, by their names. */
export function pairsOf(entries: readonly string[]): Record<string, string[]> {
  const pairs: Record<string, string[]> = {};
  for (const entry of entries) {
    const [registry = "", host = ""] = entry.split("=");
    pairs[registry] = [...(pairs[registry] ?? []), host];
  }
  return pairs;
}
