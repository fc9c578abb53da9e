import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const UPPER = /[,\s]upperdir=[^,\s]*\/pool\/sandboxes\/([^/,\s]+)\//g;

/**
 * True while a root file system of a sandbox of this data directory uses the pool. Unmounting the pool then only hides it from the server: the
 * kernel keeps the file system until these sandboxes end.
 */
export function isHeldBySandboxes(dataDir: string): boolean {
  const own = new Set(namesIn(`${dataDir}/sandboxes`));
  const seen = new Set<string>();
  for (const pid of namesIn("/proc")) {
    if (!/^\d+$/.test(pid)) continue;
    try {
      const namespace = readlinkSync(`/proc/${pid}/ns/mnt`);
      if (seen.has(namespace)) continue;
      seen.add(namespace);
      for (const [, id] of readFileSync(`/proc/${pid}/mountinfo`, "utf8").matchAll(UPPER)) if (own.has(id ?? "")) return true;
    } catch {
      // The process has ended meanwhile.
    }
  }
  return false;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
