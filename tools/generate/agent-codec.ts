/*
 * Makes `packages/spec/src/generated/agent/*.ts` from the protos: types and JSON codec tables for the in-sandbox agent.
 *
 *   bun tools/generate/agent-codec.ts           writes the files
 *   bun tools/generate/agent-codec.ts --check   fails if they differ from the committed files
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FileDescriptor, renderFile } from "./agent-codec-render.ts";

const ROOT = join(import.meta.dir, "../..");
const OUT = join(ROOT, "packages/spec/src/generated/agent");

/** The text of every generated file, by name, from the protos as they are now. */
export function generate(): Map<string, string> {
  const arch = process.arch === "arm64" ? "aarch64" : "x64";
  const buf = join(ROOT, `node_modules/@bufbuild/buf-linux-${arch}/bin/buf`);
  const result = Bun.spawnSync([buf, "build", "--as-file-descriptor-set", "-o", "-#format=json"], { cwd: join(ROOT, "packages/spec") });
  if (!result.success) throw new Error(`buf build failed: ${result.stderr.toString()}`);
  const set = JSON.parse(result.stdout.toString()) as { file: FileDescriptor[] };
  const files = set.file.filter((file) => !file.name.startsWith("google/"));
  return new Map(files.map((file) => [`${file.package}.ts`, renderFile(file)]));
}

/** Names of committed files that differ from what `generate` returns. */
export function outdated(): string[] {
  const stale: string[] = [];
  for (const [name, text] of generate()) {
    if (readFileSync(join(OUT, name), "utf8") !== text) stale.push(name);
  }
  return stale;
}

if (import.meta.main) {
  if (process.argv.includes("--check")) {
    const stale = outdated();
    if (stale.length > 0) {
      console.error(`These files do not match the protos: ${stale.join(", ")}. Run: bun tools/generate/agent-codec.ts`);
      process.exitCode = 1;
    }
  } else {
    for (const [name, text] of generate()) writeFileSync(join(OUT, name), text);
  }
}
