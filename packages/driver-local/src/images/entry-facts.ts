import { LARGEST_ACL_BYTES } from "../oci/seccomp/policy.ts";
import { fchmod, fchown, setXattr, utimesFd } from "../sys/at.ts";
import { CAPABILITY, isAcl, isKept, OPAQUE, plainCapability } from "./attributes.ts";
import { show } from "./byte-paths.ts";
import { BadTar } from "./tar/header.ts";
import type { TarEntry } from "./tar/reader.ts";

/** Seconds since 1970: the year 2242, the largest time that an ordinary header holds. Some file systems and programs fail on later ones. */
const MAX_TIME = 0o77777777777;

export const timeOf = (entry: TarEntry): number => Math.min(entry.mtime, MAX_TIME);

/** Makes a directory opaque: it hides the directory of the same name in the layers below. */
export function setOpaque(fd: number): void {
  setXattr(fd, OPAQUE, Buffer.from("y"));
}

/** Sets owner, mode, attributes and time of a file whose content is complete. */
export function finishFile(fd: number, entry: TarEntry): void {
  // The owner first, because the kernel then removes capabilities and set-id bits.
  if (entry.uid !== 0 || entry.gid !== 0) fchown(fd, entry.uid, entry.gid);
  fchmod(fd, entry.mode);
  setAttributes(fd, entry);
  utimesFd(fd, timeOf(entry));
}

export function setAttributes(fd: number, entry: TarEntry): void {
  for (const [name, text] of entry.xattrs) {
    if (!isKept(name)) continue;
    const bytes = Buffer.from(text, "latin1");
    if (isAcl(name) && bytes.length > LARGEST_ACL_BYTES)
      throw new BadTar(`${show(entry.path)} has an access list of more entries than sandboxes may set`);
    const value = name === CAPABILITY ? plainCapability(bytes) : bytes;
    if (value) setXattr(fd, name, value);
  }
}
