import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

/**
 * The id of this data directory among all that use one store, one after the other; made when there is none. A store in PostgreSQL has it with each
 * sandbox, so that a server does not treat the sandboxes of another machine as lost. Throws `failed_precondition`, reason `bad_node_id`, for a
 * damaged file.
 */
export function nodeIdOf(dataDir: string): string {
  const path = join(dataDir, "node-id");
  const found = read(path);
  if (found !== undefined) return found;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const id = randomUUID();
  writeFileSync(`${path}.${process.pid}.new`, `${id}\n`, { mode: 0o600 });
  renameSync(`${path}.${process.pid}.new`, path);
  // Of two processes that made an id at the same time, both use the one that is in the file now.
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
