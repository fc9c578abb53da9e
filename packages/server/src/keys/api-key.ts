import { createHash, randomBytes } from "node:crypto";

export const KEY_PREFIX = "e2b_";
/** Prefix of access tokens, which are for `Authorization: Bearer`. */
const TOKEN_PREFIX = "sk_e2b_";
/** Characters after the prefix: 160 random bits as hex. */
export const KEY_VALUE_LENGTH = 40;
const SHOWN = 4;

const randomValue = () => randomBytes(KEY_VALUE_LENGTH / 2).toString("hex");
export const newApiKey = (): string => `${KEY_PREFIX}${randomValue()}`;
export const newAccessToken = (): string => `${TOKEN_PREFIX}${randomValue()}`;
export const hashKey = (key: string): string => createHash("sha256").update(key).digest("hex");

/** What lists show of a key or token: prefix, first four and last four characters. 128 bits stay secret. */
export const hintOf = (key: string): string => key.slice(0, prefixOf(key).length + SHOWN) + key.slice(-SHOWN);

/** The characters of a key that a hint shows. Hints of the first release have no end: it is empty then. */
export function maskOf(hint: string): { prefix: string; start: string; end: string } {
  const prefix = prefixOf(hint);
  const shown = hint.slice(prefix.length);
  return { prefix, start: shown.slice(0, SHOWN), end: shown.slice(SHOWN) };
}

const prefixOf = (text: string): string => (text.startsWith(TOKEN_PREFIX) ? TOKEN_PREFIX : KEY_PREFIX);
