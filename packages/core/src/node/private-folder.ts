import { chmodSync, lstatSync, mkdirSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { AppError } from "../errors.ts";

/** The mask of processes that write into the data folder: what they make is its owner's alone. */
export const PRIVATE_UMASK = 0o077;

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/**
 * Makes a folder that only its owner may enter, and takes from others what an earlier version left them: the folder itself and what lies
 * directly in it. Deeper entries are out of reach with that, and some of them are shown to sandboxes' users, who need their modes.
 *
 * Throws `failed_precondition`, reason `data_folder_owner`, when another user owns the folder, for he could replace what is in it.
 */
export function makePrivateFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: FOLDER_MODE });
  const { uid } = lstatSync(folder, { throwIfNoEntry: true });
  if (uid !== process.getuid?.()) {
    throw new AppError(
      "failed_precondition",
      `The folder ${folder} belongs to user ${uid}, who could replace what is in it: give it to root (chown root ${folder}), or choose another folder`,
      { reason: "data_folder_owner" },
    );
  }
  close(folder);
  for (const name of readdirSync(folder)) close(join(folder, name));
}

function close(path: string): void {
  let stat: Stats | undefined;
  try {
    stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined || stat.isSymbolicLink()) return;
    const mode = stat.mode & 0o777 & (stat.isDirectory() ? FOLDER_MODE : FILE_MODE);
    if ((stat.mode & 0o777) !== mode) chmodSync(path, mode);
  } catch (error) {
    // Another process has just removed it. (A read-only disk keeps its modes: the folder's own is what counts.)
    const { code } = error as { code?: unknown };
    if (code !== "ENOENT" && !(code === "EROFS" && stat !== undefined)) throw error;
  }
}
