import type { Finding, Source } from "./boundaries.ts";
import { cyclesOf, type Edge, importGraph } from "./graph.ts";

const PACKAGES = /^packages\/[^/]+\/src\//;
/** Tests and what they use may import every part of their package. */
const TESTS = /\.test\.tsx?$|\/testing\//;

/**
 * Directories that import each other in a circle. In each directory, the entries (files and directories) are the nodes, and an import anywhere below
 * one of them of a file anywhere below another is an edge. So `a/` may import `b/`, and then nothing in `b/` may import `a/`, whichever files these
 * are; and a file may use the directories beside it only if they do not use it. A directory of a circle cannot be understood by itself. There is
 * one finding for each group of entries that reach each other. Circles of files alone are found by `checkCycles`.
 */
export function checkCircles(sources: readonly Source[]): Finding[] {
  const code = sources.filter(({ path }) => PACKAGES.test(path) && !TESTS.test(path));
  return [...graphsOf(code).values()].flatMap((graph) => cyclesOf(graph).flatMap(findingOf));
}

/** For each directory, the graph of its entries. */
function graphsOf(sources: readonly Source[]): Map<string, Map<string, Edge[]>> {
  const graphs = new Map<string, Map<string, Edge[]>>();
  for (const edge of [...importGraph(sources).values()].flat()) {
    const { directory, from, to } = apart(edge);
    if (from === to) continue;
    const graph = graphs.get(directory) ?? new Map<string, Edge[]>();
    graphs.set(directory, graph);
    graph.set(from, [...(graph.get(from) ?? []), { ...edge, to }]);
  }
  return graphs;
}

/** The directory that has both files, and its entry for each. A file that imports itself is one entry. */
function apart({ path, target }: Edge): { directory: string; from: string; to: string } {
  const [a, b] = [path.split("/"), target.split("/")];
  const same = a.findIndex((part, i) => part !== b[i]);
  const depth = same === -1 ? a.length - 1 : same;
  const entry = (parts: readonly string[]) => parts.slice(0, depth + 1).join("/") + (parts.length > depth + 1 ? "/" : "");
  return { directory: a.slice(0, depth).join("/"), from: entry(a), to: entry(b) };
}

function findingOf(circle: readonly Edge[]): Finding[] {
  if (!circle.some(({ to }) => to.endsWith("/"))) return [];
  const [first] = circle as [Edge];
  const last = circle.at(-1)?.to ?? "";
  const ways = circle.map(({ to, path, target }) => `${to} (${path} imports ${target})`);
  return [{ path: first.path, line: first.line, message: `directories form a circle: ${last} → ${ways.join(" → ")}` }];
}
