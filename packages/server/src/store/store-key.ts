import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "@boxyard/core";
import { errnoOf } from "@boxyard/core/node";
import { KEY_BYTES, Sealer } from "./sealer.ts";

/** The key's file in the data directory. The store does not hold the key, so a copy of the store alone reveals no secrets. */
export const STORE_KEY_FILE = "store-key";

/** The sealer of a data directory's store; makes the key the first time. Throws `failed_precondition`, reason `bad_store_key`. */
export function openSealer(dataDir: string): Sealer {
  const path = join(dataDir, STORE_KEY_FILE);
  const text = read(path) ?? make(path);
  const key = Buffer.from(text, "hex");
  if (key.length === KEY_BYTES && key.toString("hex") === text) return new Sealer(key);
  throw new AppError("failed_precondition", `${path} does not hold the store's key; put the file back`, { reason: "bad_store_key" });
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
