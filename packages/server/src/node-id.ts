import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

/**
 * Names this data directory among all that may work on one store, one after the other. A store in PostgreSQL knows by it which sandboxes are
 * here: those of another machine must not be taken for lost ones.
 */
export function nodeIdOf(dataDir: string): string {
  const path = join(dataDir, "node-id");
  const found = read(path);
  if (found !== undefined) return found;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const id = randomUUID();
  writeFileSync(`${path}.${process.pid}.new`, `${id}\n`, { mode: 0o600 });
  renameSync(`${path}.${process.pid}.new`, path);
  // Two that made one at the same time go by what stands there now.
  return read(path) ?? id;
}

function read(path: string): string | undefined {
  let content: string;
  try {
    content = readFileSync(path, "utf8").trim();
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
  if (/^[0-9a-f-]{36}$/.test(content)) return content;
  throw new AppError(
    "failed_precondition",
    `${path} does not hold an id; put the file back, or remove it to begin anew without sandboxes`,
    {
      reason: "bad_node_id",
    },
  );
}
