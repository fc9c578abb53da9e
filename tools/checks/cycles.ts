import { posix } from "node:path";
import type { Finding, Source } from "./boundaries.ts";
import { importsOf } from "./source-text.ts";

interface Edge {
  readonly to: string;
  readonly line: number;
}

type Graph = ReadonlyMap<string, readonly Edge[]>;

/**
 * Files that import each other in a cycle, type imports included. A file of a cycle cannot be read, tested or moved by itself. There is one
 * finding for each group of files that reach each other: the shortest cycle of its first file.
 */
export function checkCycles(sources: readonly Source[]): Finding[] {
  const graph = graphOf(sources);
  const reported = new Set<string>();
  const findings: Finding[] = [];
  for (const path of [...graph.keys()].sort()) {
    const cycle = reported.has(path) ? undefined : shortestCycle(graph, path);
    if (!cycle) continue;
    for (const other of reachable(graph, path)) if (reachable(graph, other).has(path)) reported.add(other);
    const line = graph.get(path)?.find(({ to }) => to === cycle[1])?.line ?? 1;
    findings.push({ path, line, message: `imports itself in a cycle: ${cycle.join(" → ")}` });
  }
  return findings;
}

/** Every file that a file imports, directly or through others. */
function reachable(graph: Graph, start: string): Set<string> {
  const found = new Set<string>();
  const queue = [start];
  for (const path of queue) {
    for (const { to } of graph.get(path) ?? []) {
      if (found.has(to)) continue;
      found.add(to);
      queue.push(to);
    }
  }
  return found;
}

/** The relative imports between `sources`. */
function graphOf(sources: readonly Source[]): Graph {
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, text }) => {
      const edges = importsOf(text).flatMap(({ specifier, line }) => {
        if (!specifier.startsWith(".")) return [];
        const to = posix.normalize(posix.join(posix.dirname(path), specifier));
        return known.has(to) ? [{ to, line }] : [];
      });
      return [path, edges];
    }),
  );
}

/** The shortest path from a file back to itself, both ends included. */
function shortestCycle(graph: Graph, start: string): string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const path of queue) {
    for (const { to } of graph.get(path) ?? []) {
      if (to === start) return [...wayTo(cameFrom, start, path), start];
      if (cameFrom.has(to)) continue;
      cameFrom.set(to, path);
      queue.push(to);
    }
  }
  return undefined;
}

function wayTo(cameFrom: ReadonlyMap<string, string>, start: string, end: string): string[] {
  const way = [end];
  for (let at: string | undefined = end; at !== undefined && at !== start; ) {
    at = cameFrom.get(at);
    if (at !== undefined) way.unshift(at);
  }
  return way;
}
