/** Writes `docs/contract/operations.md`: every operation of the OpenAPI documents, and the test that calls it. Ends with an error for one without a test. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { agentDocument } from "@boxyard/spec/agent-api";
import { platformDocument } from "@boxyard/spec/platform-document";
import { ROOT } from "../config.ts";
import { type Operation, type TestFile, testOf, testsIn } from "./operation-tests.ts";

interface Paths {
  readonly paths?: object;
}

const filesOf = (directory: string): TestFile[] =>
  readdirSync(join(ROOT, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts") && !entry.parentPath.includes("node_modules"))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

const operationsOf = ({ paths = {} }: Paths): Operation[] =>
  Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method: method.toUpperCase(), path })),
  );

const files = [...filesOf("packages/server/src"), ...filesOf("e2e")];
const OUTPUT = join(ROOT, "docs/contract/operations.md");
const AGENT = "## Agent";
const [forPlatform = "", forAgent = ""] = existsSync(OUTPUT) ? readFileSync(OUTPUT, "utf8").split(AGENT) : [];
const before = new Map([...testsIn(forPlatform, ""), ...testsIn(forAgent, "agent ")]);
const missing: string[] = [];

function table(title: string, operations: readonly Operation[], prefix: string): string {
  const rows = operations.map((operation) => {
    const name = `${operation.method} ${prefix}${operation.path}`;
    const test = testOf(operation, files, prefix, before.get(name));
    if (test === undefined) missing.push(name);
    return `| \`${operation.method} ${operation.path}\` | \`${test}\` |`;
  });
  return `## ${title}: ${rows.length} of ${operations.length}\n\n| operation | test |\n|---|---|\n${rows.join("\n")}\n`;
}

const platform = operationsOf(platformDocument() as Paths);
const agent = operationsOf(agentDocument() as Paths);
const text = `<!-- Written by tools/generate/operations.ts from the OpenAPI documents and the tests; edit those. -->

# Operations and their tests

Every operation of the two OpenAPI documents with a test that calls it, ${platform.length + agent.length} of ${platform.length + agent.length}. Beside these tests, every route of the platform API is called
without a key, with keys of each scope, and by another team (\`packages/server/src/http/access.test.ts\`, \`isolation.test.ts\`).

Refused, and tested so: \`POST /templates/{templateID}/builds/{buildID}\` and \`POST /nodes/{nodeID}\` ([limitations](../limitations.md)).

${table("Platform API", platform, "")}
${table("Agent", agent, "agent ")}`;
if (missing.length > 0) throw new Error(`No test calls these operations (tools/generate/operation-tests.ts): ${missing.join("; ")}`);
writeFileSync(OUTPUT, text);
