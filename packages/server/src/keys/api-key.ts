import { createHash, randomBytes } from "node:crypto";

export const KEY_PREFIX = "e2b_";
/** Characters after the prefix: 160 random bits as hex. */
export const KEY_VALUE_LENGTH = 40;
const SHOWN = 4;

export const newApiKey = (): string => `${KEY_PREFIX}${randomBytes(KEY_VALUE_LENGTH / 2).toString("hex")}`;
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** What lists show of a key: prefix, first four and last four characters. 128 bits stay secret. */
export const hintOf = (key: string): string => key.slice(0, KEY_PREFIX.length + SHOWN) + key.slice(-SHOWN);

/** The characters of a key that a hint shows. Hints of the first release have no end: it is empty then. */
export function maskOf(hint: string): { start: string; end: string } {
  const shown = hint.slice(KEY_PREFIX.length);
  return { start: shown.slice(0, SHOWN), end: shown.slice(SHOWN) };
}
