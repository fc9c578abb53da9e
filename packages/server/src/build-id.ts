import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Hash of the server's own sources: tells a client whether the server that runs is the one that it would start. 16 hex digits. */
export function buildId(folder: string = import.meta.dir): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && !name.endsWith(".test.ts"),
  );
  for (const name of files.sort())
    hasher
      .update(`${name}\0`)
      .update(readFileSync(join(folder, name)))
      .update("\0");
  return hasher.digest("hex").slice(0, 16);
}
