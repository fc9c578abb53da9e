/*
 * To the kernel a name is bytes, which may not be UTF-8. Watches keep names as *raw* strings of one character per byte: ASCII is unchanged, and
 * different names stay different.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII begins with them.
const NOT_ASCII = /[^\x00-\x7f]/;

/** Text to raw. */
export const rawOf = (text: string): string => (NOT_ASCII.test(text) ? Buffer.from(text).toString("latin1") : text);

/** Raw to text, for answers and messages; bytes that are not UTF-8 become U+FFFD. */
export const textOf = (raw: string): string => (NOT_ASCII.test(raw) ? Buffer.from(raw, "latin1").toString() : raw);

/** Raw to a path for `node:fs`, which encodes strings as UTF-8. */
export const pathOfRaw = (raw: string): string | Buffer => (NOT_ASCII.test(raw) ? Buffer.from(raw, "latin1") : raw);

export const joinRaw = (dir: string, name: string): string => (dir === "" ? name : `${dir}/${name}`);
