import { AppError } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/node";
import { volumeDamaged, volumeDiskFull, volumeFull } from "@boxyard/driver";
import { hasErrno } from "../sys/libc.ts";

export const pathNotFound = (path: string) => new AppError("not_found", `There is no ${path} in the volume`, { reason: "path_not_found" });
export const pathExists = (path: string) =>
  new AppError("already_exists", `There is something at ${path} in the volume`, { reason: "path_exists" });
export const isRoot = () => new AppError("failed_precondition", "The root of a volume cannot be moved or removed", { reason: "is_root" });
export const notAFile = (path: string) =>
  new AppError("failed_precondition", `${path} in the volume is no plain file`, { reason: "not_a_file" });
const notADirectory = (path: string) =>
  new AppError("failed_precondition", `${path}, or what is on the way to it, is no directory`, { reason: "not_a_directory" });

/** What the kernel says of a path in a volume, as the errors of `VolumeContent`. */
export function contentError(id: string, path: string, error: unknown): unknown {
  if (error instanceof AppError) return error;
  if (hasErrno(error, "ENOENT")) return pathNotFound(path);
  if (hasErrno(error, "EEXIST", "ENOTEMPTY")) return pathExists(path);
  if (hasErrno(error, "ENOTDIR")) return notADirectory(path);
  if (hasErrno(error, "EISDIR", "ENXIO", "ENODEV", "EOPNOTSUPP")) return notAFile(path);
  if (hasErrno(error, "ELOOP")) {
    return new AppError("failed_precondition", `The links of ${path} lead nowhere, or it is a link itself`, { reason: "bad_link" });
  }
  if (hasErrno(error, "EINVAL", "ENAMETOOLONG")) {
    return new AppError("invalid_argument", `${path} is no path that the volume can have`, { reason: "bad_path" });
  }
  if (hasErrno(error, "EDQUOT")) return volumeFull(id);
  if (hasErrno(error, "ENOSPC", "EROFS")) return volumeDiskFull(id);
  if (hasErrno(error, "EIO", "EUCLEAN")) return volumeDamaged(id);
  return fromErrno(`volume ${id}`, error);
}
