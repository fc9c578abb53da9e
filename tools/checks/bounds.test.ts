import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dir, "../..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");

/** Value of a numeric constant in a source file; multiplications and shifts are computed. */
function constant(path: string, name: string): number {
  const [, text = ""] = new RegExp(`\\b${name}\\b(?: =|:) ([^;,\\n]+)`).exec(read(path)) ?? [];
  const [first = "", ...more] = text.replaceAll("_", "").split(/\s*(?:\*|<<)\s*/);
  const isShift = text.includes("<<");
  return more.reduce((value, factor) => (isShift ? value * 2 ** Number(factor) : value * Number(factor)), Number(first));
}

test("docs/bounds.md has the limits of the code", () => {
  const document = read("docs/bounds.md");
  const row = (what: string) => document.split("\n").find((line) => line.startsWith(`| ${what}`)) ?? `no row '${what}'`;
  const shapes = "packages/spec/src/platform";
  const files = "packages/agent/src/files/limits.ts";
  const agent = "packages/agent/src/limits.ts";
  const amount = (value: number) => value.toLocaleString("en");
  const mib = (value: number) => `${value / 2 ** 20} MiB`;
  for (const [what, wanted] of [
    ["body of a request", mib(constant("packages/spec/src/platform/route-parts.ts", "DEFAULT_BODY_BYTES"))],
    ["body of a request", `${constant("packages/spec/src/platform/common.ts", "MAX_JSON_DEPTH")} levels`],
    ["name and alias", `${constant(`${shapes}/template.ts`, "MAX_NAME_LENGTH")} characters`],
    ["tags of one request", `${constant(`${shapes}/template.ts`, "MAX_TAGS")},`],
    ["steps of a build", amount(constant(`${shapes}/start-build.ts`, "MAX_STEPS"))],
    ["sources of one COPY", amount(constant(`${shapes}/build-step.ts`, "MAX_SOURCES"))],
    ["builds that were requested", String(constant("packages/server/src/templates/catalog.ts", "MAX_WAITING"))],
    ["API keys and access tokens", amount(constant("packages/server/src/keys/keys.ts", "MAX_KEYS"))],
    ["API keys and access tokens", amount(constant("packages/server/src/teams/teams.ts", "MAX_TEAMS"))],
    ["entries of one listing", amount(constant(files, "listEntries"))],
    ["sources of one composition", amount(constant(files, "composeSources"))],
    ["parts of a multipart upload", amount(constant(files, "uploadParts"))],
    ["watches, directories", `${constant(files, "watchers")}, ${amount(constant(files, "watchedDirs"))}`],
    ["events that wait", mib(constant(files, "queuedEventBytes"))],
    ["one message to the agent", mib(constant(agent, "messageBytes"))],
    ["output of a process", `${constant(agent, "outputLogBytes") / 1024} KiB`],
  ] as const) {
    expect(row(what)).toContain(wanted);
  }
});
