import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { memoryDirectory } from "@boxyard/testkit";
import { SqlStore } from "../store/index.ts";

let emptyStore: Promise<Uint8Array> | undefined;

/** The file of a store with the newest schema and no rows, made once for all data directories of this process. */
async function makeEmptyStore(): Promise<Uint8Array> {
  const directory = await mkdtemp(join(memoryDirectory(), "boxyard-store-"));
  try {
    const file = join(directory, "boxyard.db");
    await (await SqlStore.open({ file, exclusive: true }, "")).close();
    return await readFile(file);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Makes a data directory for a test's server, with an empty store; in memory, since a new store syncs its files several times. */
export async function newDataDir(): Promise<string> {
  emptyStore ??= makeEmptyStore();
  const bytes = await emptyStore;
  const directory = await mkdtemp(join(memoryDirectory(), "boxyard-server-"));
  await writeFile(join(directory, "boxyard.db"), bytes, { mode: 0o600 });
  return directory;
}
