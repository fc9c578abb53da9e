import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { executableBuild } from "@boxyard/core";

/**
 * Identifies the program of the server, so that the command can tell whether the running server is the program that it would start itself: the id
 * of the executable, or in a checkout a hash of the server's sources. 16 hex digits.
 */
export function buildId(directory: string = import.meta.dir): string {
  if (executableBuild !== undefined) return executableBuild;
  const hasher = new Bun.CryptoHasher("sha256");
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  );
  for (const name of files.sort())
    hasher
      .update(`${name}\0`)
      .update(readFileSync(join(directory, name)))
      .update("\0");
  return hasher.digest("hex").slice(0, 16);
}
