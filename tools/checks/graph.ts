import { posix } from "node:path";
import type { Source } from "./boundaries.ts";
import { importsOf } from "./source-text.ts";

/** An import of one node (a file or a directory) by another, and where it stands. */
export interface Edge {
  readonly to: string;
  /** The file that imports, the file that is imported, and the line. */
  readonly path: string;
  readonly target: string;
  readonly line: number;
}

export type Graph = ReadonlyMap<string, readonly Edge[]>;

/** The relative imports between `sources`: the nodes are the files. */
export function importGraph(sources: readonly Source[]): Graph {
  const known = new Set(sources.map(({ path }) => path));
  return new Map(
    sources.map(({ path, text }) => {
      const edges = importsOf(text).flatMap(({ specifier, line }) => {
        if (!specifier.startsWith(".")) return [];
        const to = posix.normalize(posix.join(posix.dirname(path), specifier));
        return known.has(to) ? [{ to, path, target: to, line }] : [];
      });
      return [path, edges];
    }),
  );
}

/** For each group of nodes that reach each other, the shortest cycle of its first node: the edges, in order. */
export function cyclesOf(graph: Graph): Edge[][] {
  const reported = new Set<string>();
  const cycles: Edge[][] = [];
  for (const node of [...graph.keys()].sort()) {
    const cycle = reported.has(node) ? undefined : shortestCycle(graph, node);
    if (!cycle) continue;
    for (const other of reachable(graph, node)) if (reachable(graph, other).has(node)) reported.add(other);
    cycles.push(cycle);
  }
  return cycles;
}

/** Every node that a node imports, directly or through others. */
function reachable(graph: Graph, start: string): Set<string> {
  const found = new Set<string>();
  const queue = [start];
  for (const node of queue) {
    for (const { to } of graph.get(node) ?? []) {
      if (found.has(to)) continue;
      found.add(to);
      queue.push(to);
    }
  }
  return found;
}

/** The edges of the shortest way from a node back to itself. */
function shortestCycle(graph: Graph, start: string): Edge[] | undefined {
  const cameBy = new Map<string, readonly Edge[]>([[start, []]]);
  const queue = [start];
  for (const node of queue) {
    const way = cameBy.get(node) ?? [];
    for (const edge of graph.get(node) ?? []) {
      if (edge.to === start) return [...way, edge];
      if (cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, [...way, edge]);
      queue.push(edge.to);
    }
  }
  return undefined;
}
