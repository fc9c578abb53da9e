import { fchmod, fchown, setXattr, utimesFd } from "../sys/at.ts";
import { CAPABILITY, isKept, OPAQUE, plainCapability } from "./attributes.ts";
import type { TarEntry } from "./tar/reader.ts";

/** Times beyond make file systems and programs stumble; the year 2242, the most that an ordinary header holds. */
const MAX_TIME = 0o77777777777;

export const timeOf = (entry: TarEntry): number => Math.min(entry.mtime, MAX_TIME);

/** The directory hides what the layers below have under its name. */
export function setOpaque(fd: number): void {
  setXattr(fd, OPAQUE, Buffer.from("y"));
}

/** Gives a file whose content is complete what its entry says of it. */
export function finishFile(fd: number, entry: TarEntry): void {
  // Changing the owner takes capabilities and set-id bits away, so it comes first.
  if (entry.uid !== 0 || entry.gid !== 0) fchown(fd, entry.uid, entry.gid);
  fchmod(fd, entry.mode);
  setAttributes(fd, entry);
  utimesFd(fd, timeOf(entry));
}

export function setAttributes(fd: number, entry: TarEntry): void {
  for (const [name, text] of entry.xattrs) {
    if (!isKept(name)) continue;
    const bytes = Buffer.from(text, "latin1");
    const value = name === CAPABILITY ? plainCapability(bytes) : bytes;
    if (value) setXattr(fd, name, value);
  }
}
