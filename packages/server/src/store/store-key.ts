import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";
import { KEY_BYTES, Sealer } from "./sealer.ts";

/** The key's file in the data directory. The store does not hold the key, so a copy of the store alone reveals no secrets. */
export const STORE_KEY_FILE = "store-key";

/** The key of a rotation that is under way, beside the present one. */
const NEXT_KEY_FILE = `${STORE_KEY_FILE}.next`;

/** The sealer of a data directory's store; makes the key the first time. Throws `failed_precondition`, reason `bad_store_key`. */
export function openSealer(dataDir: string): Sealer {
  const path = join(dataDir, STORE_KEY_FILE);
  return sealerOf(path, read(path) ?? make(path));
}

function sealerOf(path: string, text: string): Sealer {
  const key = Buffer.from(text, "hex");
  if (key.length === KEY_BYTES && key.toString("hex") === text) return new Sealer(key);
  throw new AppError("failed_precondition", `${path} does not hold the store's key; put the file back`, { reason: "bad_store_key" });
}

/** The files of a data directory's key and of the one that is to follow it. Each is whole or not there, after a crash too. */
export class KeyFiles {
  private readonly dataDir: string;
  private readonly path: string;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
    this.path = join(dataDir, NEXT_KEY_FILE);
  }

  /** The present key; makes it the first time. */
  sealer(): Sealer {
    return openSealer(this.dataDir);
  }

  /** The key of a rotation that was begun. */
  next(): Sealer | undefined {
    const text = read(this.path);
    return text === undefined ? undefined : sealerOf(this.path, text);
  }

  /** Makes the next key; there must be none. */
  makeNext(): Sealer {
    return sealerOf(this.path, make(this.path));
  }

  /** The next key takes the place of the present one, which is gone then. */
  promote(): void {
    renameSync(this.path, join(this.dataDir, STORE_KEY_FILE));
    syncDirectory(this.dataDir);
  }

  dropNext(): void {
    rmSync(this.path, { force: true });
    syncDirectory(this.dataDir);
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Makes the key; it is on the disk before anything is sealed with it. Of two processes that make a key at once, both use the first. */
function make(path: string): string {
  const aside = `${path}.${process.pid}.new`;
  try {
    writeSynced(aside, `${randomBytes(KEY_BYTES).toString("hex")}\n`);
    linkSync(aside, path);
    syncDirectory(dirname(path));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw fault(path, error);
  } finally {
    rmSync(aside, { force: true });
  }
  return readFileSync(path, "utf8").trim();
}

function fault(path: string, cause: unknown): AppError {
  const isFull = ["ENOSPC", "EDQUOT"].includes(errnoOf(cause) ?? "");
  const said = isFull ? "there is no room left on its disk; make some" : cause instanceof Error ? cause.message : String(cause);
  return new AppError("unavailable", `The store's key ${path} can't be written: ${said}`, {
    reason: isFull ? "store_full" : "store_denied",
    cause,
  });
}

function writeSynced(path: string, text: string): void {
  const file = openSync(path, "w", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncDirectory(directory: string): void {
  const fd = openSync(directory, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
