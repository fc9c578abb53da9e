/*
 * A name in the kernel is bytes, and need not be text. Watching keeps names as strings of one character per byte: what is ASCII stays as it
 * is, and no two names become one.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them.
const NOT_ASCII = /[^\x00-\x7f]/;

export const rawOf = (text: string): string => (NOT_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text);

/** For people and the wire; bytes that are no text become U+FFFD. */
export const textOf = (raw: string): string => (NOT_ASCII.test(raw) ? Buffer.from(raw, "latin1").toString() : raw);

/** For calls of `node:fs`, which would take a string as text. */
export const pathOfRaw = (raw: string): string | Buffer => (NOT_ASCII.test(raw) ? Buffer.from(raw, "latin1") : raw);

export const joinRaw = (dir: string, name: string): string => (dir === "" ? name : `${dir}/${name}`);
