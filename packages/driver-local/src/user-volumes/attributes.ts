import type { VolumeAttributes } from "@boxyard/driver";
import { fchmod, fchown } from "../sys/at.ts";

/** The attributes that are set. */
export function defined({ uid, gid, mode }: VolumeAttributes): VolumeAttributes {
  return { ...(uid !== undefined && { uid }), ...(gid !== undefined && { gid }), ...(mode !== undefined && { mode }) };
}

/** The owner first: setting it removes set-user-id bits. */
export function setAttributes(fd: number, { uid = -1, gid = -1, mode }: VolumeAttributes): void {
  if (uid !== -1 || gid !== -1) fchown(fd, uid, gid);
  if (mode !== undefined) fchmod(fd, mode);
}
