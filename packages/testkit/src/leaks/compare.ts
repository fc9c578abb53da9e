import type { Snapshot } from "./snapshot.ts";

export interface Difference {
  readonly kind: keyof Snapshot;
  readonly change: "left behind" | "taken away" | "changed";
  readonly what: string;
}

/** Kinds of which something that was there before must still be there. */
const KEPT = new Set<keyof Snapshot>(["mounts", "loops", "links", "networkNamespaces", "nftTables"]);

/**
 * What is different after a test run. Device nodes are compared by owner and mode only: a node that appears or goes (the kernel makes more
 * loop nodes when they are needed) is no leak.
 */
export function compareSnapshots(before: Snapshot, after: Snapshot): Difference[] {
  return (Object.keys(before) as (keyof Snapshot)[]).flatMap((kind) => {
    if (kind === "devices") return changedDevices(before.devices, after.devices);
    const left = missingFrom(before[kind], after[kind]).map((what) => ({ kind, change: "left behind" as const, what }));
    const gone = KEPT.has(kind) ? missingFrom(after[kind], before[kind]) : [];
    return [...left, ...gone.map((what) => ({ kind, change: "taken away" as const, what }))];
  });
}

/** Lines of `lines` that `known` has not (as often). */
function missingFrom(known: readonly string[], lines: readonly string[]): string[] {
  const rest = [...known];
  return lines.filter((line) => {
    const at = rest.indexOf(line);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

/** Whether a line is about this path or what is below it, and not about one whose name only begins as it does. */
export function isAbout(line: string, path: string): boolean {
  return line
    .split(path)
    .slice(1)
    .some((rest) => !/^[\w.-]/.test(rest));
}

function changedDevices(before: readonly string[], after: readonly string[]): Difference[] {
  const path = (line: string) => line.slice(0, line.indexOf(": "));
  const known = new Map(before.map((line) => [path(line), line]));
  return after.flatMap((line) => {
    const was = known.get(path(line));
    return was === undefined || was === line ? [] : [{ kind: "devices" as const, change: "changed" as const, what: `${was} → ${line}` }];
  });
}
