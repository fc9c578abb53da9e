import type { Finding, Source } from "./boundaries.ts";
import { cyclesOf, importGraph } from "./graph.ts";

/**
 * Files that import each other in a cycle, type imports included. A file of a cycle cannot be read, tested or moved by itself. There is one
 * finding for each group of files that reach each other: the shortest cycle of its first file.
 */
export function checkCycles(sources: readonly Source[]): Finding[] {
  return cyclesOf(importGraph(sources)).map((cycle) => {
    const [{ path, line }] = cycle as [(typeof cycle)[0]];
    return { path, line, message: `imports itself in a cycle: ${[path, ...cycle.map(({ to }) => to)].join(" → ")}` };
  });
}
