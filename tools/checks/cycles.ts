import { posix } from "node:path";
import type { Finding, Source } from "./boundaries.ts";
import { importsOf } from "./source-text.ts";

interface Edge {
  readonly to: string;
  readonly line: number;
}

type Graph = ReadonlyMap<string, readonly Edge[]>;

/**
 * Files that import each other in a circle, type imports included. A file of such a circle cannot be read, tested or moved by itself. One
 * finding for each group of files that are all reached from each other: the shortest circle of its first file.
 */
export function checkCycles(sources: readonly Source[]): Finding[] {
  const graph = graphOf(sources);
  const told = new Set<string>();
  const findings: Finding[] = [];
  for (const path of [...graph.keys()].sort()) {
    const circle = told.has(path) ? undefined : shortestCircle(graph, path);
    if (!circle) continue;
    for (const other of reachable(graph, path)) if (reachable(graph, other).has(path)) told.add(other);
    const line = graph.get(path)?.find(({ to }) => to === circle[1])?.line ?? 1;
    findings.push({ path, line, message: `imports itself in a circle: ${circle.join(" → ")}` });
  }
  return findings;
}

/** Every file that one imports, itself or through others. */
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

/** Relative imports between the files that are there. */
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

/** The shortest way from a file back to itself, both ends included. */
function shortestCircle(graph: Graph, start: string): string[] | undefined {
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
