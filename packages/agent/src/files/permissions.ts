/*
 * A file's mode as text, as public clients show it: letters for everything that is not a plain file, then the nine bits.
 */

const S_IFMT = 0o170000;
/** Letters of the file types; a plain file has none. A character device also has the letter of devices. */
const KINDS: Readonly<Record<number, string>> = {
  0o040000: "d",
  0o120000: "L",
  0o060000: "D",
  0o020000: "Dc",
  0o010000: "p",
  0o140000: "S",
};
const BITS = "rwxrwxrwx";

/** `-rw-r--r--`, `drwxr-xr-x`, `Lrwxrwxrwx`, `urwxr-xr-x`, `dtrwxrwxrwx`, `Dcrw-rw-rw-`: the spelling of Go's FileMode. */
export function permissionText(mode: number): string {
  const kind = KINDS[mode & S_IFMT] ?? "";
  const special = `${mode & 0o4000 ? "u" : ""}${mode & 0o2000 ? "g" : ""}`;
  const sticky = mode & 0o1000 ? "t" : "";
  // In Go's order a character device's `c` stands between the set-id letters and the sticky one.
  const letters = kind === "Dc" ? `D${special}c${sticky}` : `${kind}${special}${sticky}`;
  let bits = "";
  for (let i = 0; i < 9; i++) bits += mode & (0o400 >> i) ? BITS[i] : "-";
  return `${letters || "-"}${bits}`;
}
