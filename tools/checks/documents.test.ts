import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MOVES } from "@boxyard/core";
import { Glob } from "bun";
import { ROOT } from "../config.ts";
import { sourceFiles } from "../lib/files.ts";
import { between, citations, drawMoves, fencedLanguages, headings, relativeLinks, tableNames, testReferences } from "./documents.ts";
import { IMPORTS, MAY_ALSO } from "./import-table.ts";

const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
// A pattern of Bun with a slash in its alternatives matches nothing, so these are separate patterns.
const PLACES = ["*.md", "docs/**/*.md", "examples/*.md", "packages/*/*.md", "images/**/*.md", "e2e/**/*.md"];
const documents = PLACES.flatMap((place) => [...new Glob(place).scanSync({ cwd: ROOT })]).filter((path) => !path.includes("node_modules"));

const packages = readdirSync(join(ROOT, "packages"));

/** Which tests run the code blocks of a document, by language. */
const RUN_BY: Readonly<Record<string, readonly string[]>> = {
  "CONTRIBUTING.md sh": [],
  "README.md python": ["e2e/front-door/walk.test.ts", "e2e/front-door/readme.test.ts"],
  "README.md sh": ["e2e/front-door/walk.test.ts", "e2e/front-door/readme.test.ts"],
  "README.md ts": ["e2e/front-door/walk.test.ts", "e2e/front-door/readme.test.ts"],
  "docs/dist.md sh": ["e2e/executable/executable.test.ts"],
  "docs/integrations.md js": ["e2e/integrations/integrations.test.ts"],
  "docs/integrations.md python": ["e2e/integrations/integrations.test.ts"],
  "docs/integrations.md sh": ["e2e/integrations/integrations.test.ts"],
  "docs/keep-data.md sh": ["e2e/sdk/keep-data.test.ts"],
  "docs/keep-data.md text": ["e2e/sdk/keep-data.test.ts"],
  "docs/keep-data.md ts": ["e2e/sdk/keep-data.test.ts"],
  "docs/kubernetes.md yaml": ["e2e/kubernetes/pods-server.ts", "packages/driver-kubernetes/src/rights.test.ts"],
  "docs/mcp.md sh": ["e2e/mcp/stdio.test.ts"],
  "docs/production.md caddyfile": ["e2e/support/fronts.ts"],
  "docs/production.md nginx": ["e2e/support/fronts.ts"],
  "docs/production.md yaml": ["e2e/fronts/traefik.test.ts"],
  "docs/production.md sh": ["e2e/front-door/walk.test.ts", "e2e/cli/service.test.ts", "e2e/fronts/fronts.test.ts"],
  "docs/several-servers.md sh": ["packages/server/src/replicas/settings.test.ts"],
  // Written from README.md and docs/mcp.md, whose programs the tests run.
  "docs/skills/boxyard/SKILL.md python": [],
  "docs/skills/boxyard/SKILL.md sh": [],
  "docs/skills/boxyard/SKILL.md ts": [],
  "docs/recordings.md sh": ["e2e/sdk/recordings.test.ts"],
  "docs/recordings.md text": ["e2e/sdk/recordings.test.ts"],
  "docs/recordings.md ts": ["e2e/sdk/recordings.test.ts"],
  "docs/sdk.md sh": ["e2e/sdk/tasks.test.ts"],
  "docs/sdk.md text": ["e2e/sdk/tasks.test.ts"],
  "docs/sdk.md ts": ["e2e/sdk/tasks.test.ts"],
  "examples/README.md sh": ["e2e/examples.test.ts"],
  "images/code-interpreter/README.md sh": ["e2e/support/code-interpreter.ts"],
  "packages/sdk/PACKAGE.md sh": ["e2e/sdk/tasks.test.ts"],
  "packages/sdk/PACKAGE.md ts": ["e2e/sdk/tasks.test.ts"],
  "packages/sdk/README.md ts": ["e2e/sdk/tasks.test.ts"],
};

/** The package's directory (`packages/sdk`) for a file of a package, else the root directory. */
const packageOf = (path: string) => /^packages\/[^/]+/.exec(path)?.[0] ?? "";

/**
 * True if a citation can only mean a document of this repository: a document in docs/, or one in capitals in the root directory. Tests and
 * template builders name other documents, which they make themselves.
 */
function isOfThisRepository(file: string, citedIn: string): boolean {
  if (file.startsWith("docs/") || /^[A-Z]+\.md$/.test(file)) return true;
  return !citedIn.includes(".test.ts") && file.includes("/") && !file.startsWith("..");
}

describe("the real documents", () => {
  test("are found", () => {
    expect(documents).toEqual(
      expect.arrayContaining(["README.md", "docs/limitations.md", "docs/contract/routing.md", "examples/README.md"]),
    );
  });

  test("the target of every relative link exists", () => {
    const broken = documents.flatMap((path) =>
      relativeLinks(read(path)).flatMap((target) => (existsSync(join(ROOT, dirname(path), target)) ? [] : [`${path} → ${target}`])),
    );
    expect(broken).toEqual([]);
  });

  test("every document that code and documents cite exists, with the cited heading", () => {
    const sources = sourceFiles(["ts", "tsx", "c", "h", "proto", "py", "sh"]).filter(
      ({ path }) => path !== "tools/checks/documents.test.ts",
    );
    const cited = [...sources, ...documents.map((path) => ({ path, text: read(path) }))];
    const wrong = cited.flatMap(({ path, text }) =>
      citations(text).flatMap(({ file, heading }) => {
        const found = [file, `docs/${file}`, join(dirname(path), file), join(packageOf(path), file)].find((candidate) =>
          existsSync(join(ROOT, candidate)),
        );
        if (!found) return isOfThisRepository(file, path) ? [`${path}: ${file}`] : [];
        if (!heading || !/^docs\/(contract\/|decisions)/.test(found)) return [];
        return headings(read(found)).some((title) => heading.startsWith(title)) ? [] : [`${path}: ${file}, ${heading}`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test("tests run every command and program of a document, and read it from the document", () => {
    const found = documents
      .filter((path) => !path.includes("docs/contract/"))
      .flatMap((path) => [...new Set(fencedLanguages(read(path)))].map((language) => `${path} ${language}`));
    expect(found.sort()).toEqual(Object.keys(RUN_BY).sort());
    const readers = Object.entries(RUN_BY).flatMap(([name, tests]) => tests.map((file) => ({ name, file })));
    // A test that runs a document's text names the document.
    expect(readers.filter(({ name, file }) => !read(file).includes(name.split(" ")[0] as string))).toEqual([]);
  });

  test("ARCHITECTURE.md shows the moves that the code allows", () => {
    expect(between(read("ARCHITECTURE.md"), "moves")).toBe(drawMoves(MOVES));
  });

  test("ARCHITECTURE.md lists every package", () => {
    expect(tableNames(read("ARCHITECTURE.md"))).toEqual(expect.arrayContaining(packages));
  });

  test("the import table has a row for every package, and names only existing packages", () => {
    expect(Object.keys(IMPORTS).toSorted()).toEqual(packages.toSorted());
    const named = [...Object.values(IMPORTS), ...MAY_ALSO.map((row) => row.imports)].flat().filter((name) => name !== "*");
    expect(named.filter((name) => !packages.includes(name))).toEqual([]);
  });

  test("docs/dependencies.md gives a reason for every dependency, and for no other package", () => {
    const manifests = [
      "package.json",
      "tools/package.json",
      "e2e/package.json",
      "bench/package.json",
      ...packages.map((name) => `packages/${name}/package.json`),
    ];
    const used = new Set<string>();
    for (const path of manifests) {
      const manifest = JSON.parse(read(path)) as Record<string, Record<string, string> | undefined>;
      for (const kind of ["dependencies", "devDependencies", "optionalDependencies"]) {
        for (const name of Object.keys(manifest[kind] ?? {})) if (!name.startsWith("@boxyard/")) used.add(name);
      }
    }
    const text = read("docs/dependencies.md");
    const listed = tableNames(text.slice(0, text.indexOf("## Debian packages")));
    expect(listed.toSorted()).toEqual([...used].toSorted());
  });

  test("every test that docs/operations.md names exists", () => {
    const named = [...read("docs/operations.md").matchAll(/`((?:packages|e2e)\/[\w./-]+)`/g)].map((match) => match[1] ?? "");
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  test("every test that SECURITY.md names exists", () => {
    const references = testReferences(read("SECURITY.md"), "e2e/isolation");
    expect(references.length).toBeGreaterThan(10);
    const missing = references.flatMap(({ file, tests }) => {
      if (!existsSync(join(ROOT, file))) return [file];
      const source = read(file);
      return tests.filter((name) => !source.includes(name)).map((name) => `${file}: ${name}`);
    });
    expect(missing).toEqual([]);
  });
});

describe("the functions that read documents", () => {
  test("relative links are found, links to other sites are not", () => {
    expect(relativeLinks("[a](b.md) [c](https://x) [d](#e) [f](../g.md#h)")).toEqual(["b.md", "../g.md"]);
  });

  test("test references are read with their names", () => {
    const row = "| x | F `a.test.ts`: one thing; another |\n| y | `e2e/b.test.ts` |\n| z | `e2e/c.test.ts`: deep; the suite `leaks` |\n";
    expect(testReferences(row, "e2e/isolation")).toEqual([
      { file: "e2e/isolation/a.test.ts", tests: ["one thing", "another"] },
      { file: "e2e/b.test.ts", tests: [] },
      { file: "e2e/c.test.ts", tests: ["deep"] },
    ]);
  });

  test("moves are shown in columns", () => {
    expect(drawMoves({ on: ["off"], off: [] })).toBe("on  → off\noff →");
  });
});

test("a cited document must exist if it can only be a document of this repository", () => {
  const cases = ["docs/gone.md", "GONE.md", "a/gone.md", "notes.md", "../gone.md"].map((file) => isOfThisRepository(file, "packages/a.ts"));
  expect(cases).toEqual([true, true, true, false, false]);
  expect(["docs/gone.md", "GONE.md", "a/gone.md"].map((file) => isOfThisRepository(file, "a.test.ts"))).toEqual([true, true, false]);
});

test("a citation has its file and, after a comma, its heading", () => {
  expect(citations("as docs/contract/agent.md, Signed URLs, says; see `docs/dist.md`")).toEqual([
    { file: "docs/contract/agent.md", heading: "Signed URLs" },
    { file: "docs/dist.md", heading: undefined },
  ]);
});
