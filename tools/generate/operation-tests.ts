/* Which test calls an operation of the HTTP interface. `operations.ts` writes the table. */

/** An operation of the OpenAPI documents. */
export interface Operation {
  readonly method: string;
  readonly path: string;
}

/** A test file with its text. */
export interface TestFile {
  readonly path: string;
  readonly text: string;
}

/** Operations whose test calls them in a way that their path does not stand beside their method: the text that its test must have. */
const CALLED_OTHERWISE: Readonly<Record<string, { readonly file: string; readonly text: string }>> = {
  "GET /sandboxes/{sandboxID}/usage": { file: "packages/server/src/metrics/metrics.test.ts", text: "/usage" },
  "GET /sandboxes/{sandboxID}/ports/{port}/url": { file: "packages/server/src/http/sandboxes/port-url.test.ts", text: '"GET", url(' },
  "DELETE /sandboxes/{sandboxID}/ports/{port}/url": { file: "packages/server/src/http/sandboxes/port-url.test.ts", text: '"DELETE", url(' },
  "GET /teams/{teamID}/metrics": { file: "packages/server/src/metrics/metrics.test.ts", text: "/metrics" },
  "GET /teams/{teamID}/metrics/max": { file: "packages/server/src/metrics/metrics.test.ts", text: "/metrics/max" },
  "GET /usage": { file: "packages/server/src/metrics/metrics.test.ts", text: "/usage" },
  "GET /events/stream": { file: "packages/server/src/http/events/events.test.ts", text: "/events/stream" },
  "POST /boxyard/templates/{templateID}/push": { file: "packages/server/src/http/templates/images.test.ts", text: "/push" },
  "GET /boxyard/templates/{templateID}/archive": { file: "packages/server/src/http/templates/images.test.ts", text: "/archive" },
  "GET agent /metrics": { file: "e2e/agent/metrics.root.test.ts", text: "/metrics" },
  "GET agent /files": { file: "e2e/agent/files-download.root.test.ts", text: "download" },
  "POST agent /files": { file: "e2e/agent/files-upload.root.test.ts", text: "upload" },
  "POST agent /files/compose": { file: "e2e/agent/compose.root.test.ts", text: "compose" },
  "GET agent /boxyard/archive": { file: "e2e/agent/archive.root.test.ts", text: "/boxyard/archive" },
  "POST agent /freeze": { file: "e2e/agent/freeze.root.test.ts", text: "/freeze" },
  "POST agent /unfreeze": { file: "e2e/agent/freeze.root.test.ts", text: "/unfreeze" },
};

/** Tests that call every operation in the same way, and say nothing of what one does. */
const OF_ALL = /\/(isolation|access|without-key|statuses)\.test\.ts$/;

/**
 * The test that calls an operation; undefined: there is none. `prefix` stands before the paths of operations that are no routes of the server. `before`, the
 * test that the table had, stays as long as it calls the operation, so that another test file does not change the table.
 */
export function testOf({ method, path }: Operation, files: readonly TestFile[], prefix = "", before?: string): string | undefined {
  const known = CALLED_OTHERWISE[`${method} ${prefix}${path}`];
  if (known) return files.find((file) => file.path === known.file && file.text.includes(known.text))?.path;
  const pattern = prefix === "" ? routePattern(method, path) : agentPattern(method, path);
  const calling = files.filter((file) => !OF_ALL.test(file.path) && pattern.test(file.text)).map((file) => file.path);
  return before !== undefined && calling.includes(before) ? before : calling[0];
}

/** The tests that a table has, by the operation with its prefix. */
export function testsIn(table: string, prefix: string): Map<string, string> {
  const rows = table.matchAll(/^\| `([A-Z]+) ([^`]+)` \| `([^`]+)` \|$/gm);
  return new Map([...rows].map(([, method, path, test]) => [`${method} ${prefix}${path}`, test ?? ""]));
}

/** What a test has in the place of a parameter of the path: an expression of a template, or a text. */
const VALUE = `(?:\\$\\{[^}]*\\}|[^/"\`'?\\s{}]+)`;

/** A call such as `s.call("POST", "/sandboxes/${id}/pause", …)`. */
function routePattern(method: string, path: string): RegExp {
  const parts = path.split(/(\{[^}]+\})/).map((part) => (part.startsWith("{") ? VALUE : escaped(part)));
  return new RegExp(`["']${method}["'],\\s*[^"'\`\\n]{0,40}["'\`]${parts.join("")}["'\`?]`);
}

/** A call of the agent: `call("get /health")`, or of a procedure by its name, `"Start"`. */
function agentPattern(method: string, path: string): RegExp {
  const procedure = /^\/[a-z]+\.[A-Z]\w+\/(\w+)$/.exec(path)?.[1];
  return new RegExp(`"${method.toLowerCase()} ${escaped(path)}${procedure ? `"|"${procedure}"` : '"'}`);
}

const escaped = (text: string) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
