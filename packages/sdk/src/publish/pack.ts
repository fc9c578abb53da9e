import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { ContextEntry } from "../template/copy-source.ts";
import { writeTarGz } from "../template/tar.ts";
import { buildPackage } from "./build.ts";

/** Version of the package, as its manifest has it. */
export function packageVersion(): string {
  const manifest = readFileSync(resolve(import.meta.dir, "../../package.json"), "utf8");
  return (JSON.parse(manifest) as { version: string }).version;
}

/** File name under which npm and other package managers know such an archive. */
export const archiveName = (): string => `boxyard-sdk-${packageVersion()}.tgz`;

/**
 * Builds the package and writes it to `file` as an archive that `npm install` takes. Equal sources give equal bytes, so that a lock file which
 * names the archive's digest stays right. The file appears whole or not at all.
 */
export async function packPackage(file: string): Promise<void> {
  const work = mkdtempSync(join(dirname(resolve(file)), ".pack-"));
  try {
    await buildPackage(join(work, "package"));
    const archive = join(work, basename(file));
    await writeTarGz(entriesOf(work, "package"), archive);
    renameSync(archive, file);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Every file below a directory, in a fixed order and with one mode, whatever the umask was. */
function entriesOf(root: string, directory: string): ContextEntry[] {
  return readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const absolute = join(entry.parentPath, entry.name);
      return {
        path: absolute.slice(root.length + 1),
        absolute,
        kind: "file" as const,
        mode: 0o644,
        size: statSync(absolute).size,
        target: "",
      };
    })
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
