import { statfsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqlStore } from "../store/index.ts";

const MEMORY = "/dev/shm";
/** Far more than a test writes. A container may have a small /dev/shm. */
const NEEDS_BYTES = 2 * 1024 ** 3;

/** In memory where there is room: a new store syncs its files several times, which costs more than the rest of a server's start. */
function parentDirectory(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= NEEDS_BYTES ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}

let emptyStore: Promise<Uint8Array> | undefined;

/** The file of a store with the newest schema and no rows, made once for all data directories of this process. */
async function makeEmptyStore(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(parentDirectory(), "boxyard-store-"));
  try {
    const file = join(directory, "boxyard.db");
    await (await SqlStore.open({ file, exclusive: true }, "")).close();
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Makes a data directory for a test's server, with an empty store. */
export async function newDataDir(): Promise<string> {
  emptyStore ??= makeEmptyStore();
  const bytes = await emptyStore;
  const directory = await mkdtemp(join(parentDirectory(), "boxyard-server-"));
  await writeFile(join(directory, "boxyard.db"), bytes, { mode: 0o600 });
  return directory;
}
