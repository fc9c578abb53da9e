import { chmod, chown, type FileHandle, mkdir, open, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FIRST_LINE, hasRoom } from "@boxyard/driver/recordings";

/** The user of the egress proxy, which reads and writes the exchanges and may do nothing else here. */
const PROXY_USER = 65_534;
/** Nobody but root lists or changes a directory; what is in it opens for a process that knows its name. */
const DIRECTORY = 0o711;
const FRAMES = "frames";
/** Is there while a recording is being imported. */
const IMPORTING = "importing";
const ID = /^[0-9a-f]{32}$/;

/** The directory of the recordings in a data directory. */
export const recordingsIn = (dataDir: string): string => join(dataDir, "recordings");

/** The files of recordings: a directory for each, `ID/frames`. */
export class RecordingFiles {
  private readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  /** Makes what is missing of a recording. */
  async make(id: string): Promise<void> {
    await this.makeDirectory(id);
    const path = this.framesOf(id);
    try {
      await writeFile(path, FIRST_LINE, { flag: "wx", mode: 0o600 });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "EEXIST") throw error;
    }
    await chown(path, PROXY_USER, PROXY_USER);
  }

  /** Opens the new file of a recording that is imported, which the proxy may open from now on: nobody has told it the name. */
  async beginImport(id: string): Promise<FileHandle> {
    await this.makeDirectory(id);
    await writeFile(this.markOf(id), "", { mode: 0o600 });
    const file = await open(this.framesOf(id), "wx+", 0o600);
    try {
      await file.chown(PROXY_USER, PROXY_USER);
    } catch (error) {
      await file.close();
      throw error;
    }
    return file;
  }

  /** Says that a recording is whole which was imported and has its row. A mark that stays removes nothing while the row is there. */
  async endImport(id: string): Promise<void> {
    await rm(this.markOf(id), { force: true });
  }

  /** Whether the disk takes so many bytes more of recordings. */
  hasRoom(bytes: number): Promise<boolean> {
    return hasRoom(this.directory, bytes);
  }

  read(id: string): Promise<FileHandle> {
    return open(this.framesOf(id), "r");
  }

  /** Bytes, and when something was kept last; undefined where there is no file. */
  async look(id: string): Promise<{ readonly bytes: number; readonly changedAt: number } | undefined> {
    const found = await stat(this.framesOf(id)).catch(() => undefined);
    return found && { bytes: found.size, changedAt: found.mtimeMs };
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.directory, id), { recursive: true, force: true });
  }

  /** Ids of all recordings, and whether each is whole. */
  async list(): Promise<{ readonly id: string; readonly isWhole: boolean }[]> {
    const names = await readdir(this.directory).catch(() => []);
    const ids = names.filter((name) => ID.test(name));
    return Promise.all(ids.map(async (id) => ({ id, isWhole: (await stat(this.markOf(id)).catch(() => undefined)) === undefined })));
  }

  private markOf(id: string): string {
    return join(this.directory, id, IMPORTING);
  }

  private framesOf(id: string): string {
    return join(this.directory, id, FRAMES);
  }

  private async makeDirectory(id: string): Promise<void> {
    for (const path of [this.directory, join(this.directory, id)]) {
      await mkdir(path, { recursive: true });
      // Whatever the umask is.
      await chmod(path, DIRECTORY);
    }
  }
}
