import { expect, test } from "bun:test";
import { checkBoundaries } from "./boundaries.ts";
import { codeOf, importsOf } from "./source-text.ts";

const messages = (path: string, text: string) => checkBoundaries({ path, text }).map((finding) => `${finding.line}: ${finding.message}`);

test("a package imports only what the table allows, types included", () => {
  expect(messages("packages/driver/src/a.ts", 'import { x } from "@boxyard/core";')).toEqual([]);
  expect(messages("packages/driver/src/a.ts", '\nimport type { X } from "@boxyard/server";')).toEqual([
    "2: driver may not import @boxyard/server (allowed: core)",
  ]);
  expect(messages("packages/core/src/node/a.ts", 'const m = await import("@boxyard/spec/platform");')).toEqual([
    "1: core may not import @boxyard/spec (allowed: nothing)",
  ]);
  expect(messages("packages/sdk/src/a.ts", 'export * from "@boxyard/core";')[0]).toContain("sdk may not import @boxyard/core");
});

test("only the server's local-machine.ts imports a concrete driver", () => {
  const text = 'import { LocalDriver } from "@boxyard/driver-local";';
  expect(messages("packages/server/src/local-machine.ts", text)).toEqual([]);
  expect(messages("packages/server/src/context.ts", text)).toHaveLength(1);
  expect(messages("packages/server/src/http/main.ts", text)).toHaveLength(1);
});

test("a relative import stays in its package", () => {
  expect(messages("packages/cli/src/a/b.ts", 'import "../c.ts";')).toEqual([]);
  expect(messages("packages/cli/src/a/b.ts", 'import "../../../core/src/ids.ts";')).toHaveLength(1);
  expect(messages("e2e/api/a.test.ts", 'import "../../packages/core/src/ids.ts";')).toHaveLength(1);
  expect(messages("e2e/api/a.test.ts", 'import "../../packages/server/src/testing/registry.ts";')).toEqual([]);
});

test("only config.ts reads the environment", () => {
  expect(messages("packages/server/src/config.ts", "process.env.A")).toEqual([]);
  expect(messages("packages/server/src/a.ts", "const a =\n  process.env.A;")).toEqual([
    "2: process.env: only a config.ts reads the environment (a main.ts may pass it on)",
  ]);
  expect(messages("packages/server/src/a.ts", "// process.env\nconst s = 'process.env';")).toEqual([]);
});

test("the configuration of the server imports no domain, and the engine no transition", () => {
  const config = "packages/server/src/config.ts";
  expect(messages(config, 'import { parseListed } from "./registry-hosts.ts";')).toEqual([]);
  expect(messages(config, 'import type { Reach } from "./registry/reach.ts";')[0]).toContain("the settings know no domain");
  const run = "packages/server/src/sandboxes/engine/run.ts";
  expect(messages(run, 'import { kill } from "../transitions/kill.ts";')[0]).toContain("knows none by name");
});

test("only main.ts ends the process", () => {
  expect(messages("packages/cli/src/main.ts", "process.exit(1)")).toEqual([]);
  expect(messages("packages/cli/src/run.ts", "process.exit(1)")).toEqual(["1: process.exit: only a main.ts ends the process"]);
});

test("code of a package does not compile C at run time", () => {
  for (const text of ['import { cc, ptr } from "bun:ffi";', 'const { cc: compile } = await import("bun:ffi");', "ffi.cc({ source });"])
    expect(messages("packages/driver-local/src/sys/a.ts", text)[0]).toContain("compiles no C at run time");
  expect(messages("packages/driver-local/src/sys/a.ts", 'import { ptr } from "bun:ffi"; // cc')).toEqual([]);
});

test("functions of libc are declared in one table, also those that tests use", () => {
  const text = 'import { dlopen } from "bun:ffi";';
  expect(messages("packages/core/src/node/libc.ts", text)).toEqual([]);
  for (const path of ["packages/http1/src/libc.ts", "packages/server/src/proxy/inside.test.ts", "e2e/support/a.ts"])
    expect(messages(path, text)[0]).toContain("declared in one table");
});

test("http1 imports only the table of libc's functions", () => {
  expect(messages("packages/http1/src/a.ts", 'import { lazyLibc } from "@boxyard/core/libc";')).toEqual([]);
  for (const from of ["@boxyard/core", "@boxyard/core/node"])
    expect(messages("packages/http1/src/a.ts", `import { x } from "${from}";`)).toHaveLength(1);
});

test("code for all runtimes uses no API of one runtime", () => {
  expect(messages("packages/core/src/node/logger.ts", 'import fs from "node:fs";')).toEqual([]);
  expect(messages("packages/core/src/a.ts", 'import fs from "node:fs";')).toHaveLength(1);
  expect(messages("packages/sdk/src/a.ts", "Bun.file('x')")).toHaveLength(1);
  expect(messages("packages/sdk/src/template/a.ts", 'import fs from "node:fs";')).toEqual([]);
  expect(messages("packages/sdk/src/index.ts", 'export * from "./template/index.ts";')).toHaveLength(1);
});

test("only code that handles the single executable looks for files in its own directory", () => {
  const text = 'const file = join(import.meta.dir, "main.ts");';
  expect(messages("packages/server/src/a.ts", text)).toHaveLength(1);
  expect(messages("packages/server/src/a.test.ts", text)).toEqual([]);
  expect(messages("packages/cli/src/server-control/self-command.ts", text)).toEqual([]);
});

test("services do not import handlers, steps do not import each other", () => {
  expect(messages("packages/server/src/sandboxes/lifecycle.ts", 'import "../http/errors.ts";')).toHaveLength(1);
  expect(messages("packages/driver-local/src/steps/start.ts", 'import "./create.ts";')).toHaveLength(1);
  expect(messages("packages/driver-local/src/steps/index.ts", 'import "./create.ts";')).toEqual([]);
});

test("imports of several lines are read, with the line of the module's name", () => {
  expect(importsOf('import {\n  a,\n  b,\n} from "x";\n// import "no"\n')).toEqual([{ specifier: "x", line: 4 }]);
});

test("code keeps its lines when comments and strings are blanked", () => {
  expect(codeOf('a; // b\n/* c\n */ d("e", /"/, `f`)', { keepStrings: false })).toBe("a;     \n    \n    d(   ,    ,    )");
});
