import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/* Every statement that changes a sandbox, a template, a build, a tag, a key, a team, a volume, a checkpoint, a secret, a webhook or a recording is in a method that writes the event of the change. */

const WRITE =
  /(?:INSERT INTO|UPDATE|DELETE FROM)\s+(sandboxes|templates|template_builds|template_tags|api_keys|teams|volumes|checkpoints|secrets|webhooks|recordings)\b/g;

/** Methods that write without an event, each with the reason. */
const SILENT: Readonly<Record<string, string>> = {
  touch: "the time of a key's last use is no change of the key, and is written with each request",
  sealSandboxes: "seals plain secrets of an earlier version when the store is opened; the record stays the same",
  ensureTeam: "makes the server's own team at its first start, when nobody has changed anything",
  countSpawn: "the number of a template's uses is no change of the template, and is written with each create",
  begin: "a checkpoint has its event when the driver has it; nobody can use it before",
  takeOver: "the node of a checkpoint is no change of the checkpoint: the data directory has lost its node id",
  markRemoving: "the removal has its event when the driver does not have the checkpoint any more",
  addReference: "a reference is a part of the change that makes it, which has its own event",
  dropReferences: "a reference is a part of the change that ends it, which has its own event",
  writeMeasured: "what sandboxes use is counted every few seconds; the event of a sandbox's end has the sum",
  open: "rows of the time before sandboxes had a node get the node of the only server that there was",
};

/** Methods of a class, and functions, by name: from their first line to the next one's. */
function methodsOf(text: string): { readonly name: string; readonly body: string }[] {
  const starts = [
    ...text.matchAll(/^(?: {2}(?:private )?(?:static )?(?:async )?|(?:export )?(?:async )?function )(\w+)(?:<\w+>)?\(.*\{$/gm),
  ];
  return starts.map((start, i) => ({ name: start[1] ?? "", body: text.slice(start.index, starts[i + 1]?.index) }));
}

/** The tables that a file's methods write; `isTold` when the same method records an event in its transaction. */
function writesOf(text: string) {
  return methodsOf(text).flatMap(({ name, body }) => {
    const tables = [...body.matchAll(WRITE)].map(([, table]) => table ?? "");
    const isTold = body.includes("tx.record(") && !/session\s*\.sql`(?:INSERT INTO|UPDATE|DELETE FROM)/.test(body);
    return tables.length > 0 ? [{ name, tables, isTold }] : [];
  });
}

/** Methods that write without an event and are not in `SILENT`. */
const silentOnes = (found: ReturnType<typeof writesOf>) =>
  found.filter(({ name, isTold }) => !isTold && !Object.hasOwn(SILENT, name)).map(({ name }) => name);

test("a write without its event is found", () => {
  const silent = "  async rename(id: string): Promise<void> {\n    await this.session.sql`UPDATE templates SET name = 'x'`;\n  }\n";
  const outside = silent.replace("  }\n", "    tx.record({});\n  }\n");
  const inStatic = silent.replace("async rename(", "static async constructor(");
  expect([...writesOf(silent), ...writesOf(outside), ...writesOf(inStatic)].map(({ name, isTold }) => [name, isTold])).toEqual([
    ["rename", false],
    ["rename", false],
    ["constructor", false],
  ]);
  expect(silentOnes(writesOf(inStatic))).toEqual(["constructor"]);
});

test("each change of a sandbox, template, build, tag, key, team, volume, checkpoint, secret, webhook or recording writes its event", () => {
  const files = readdirSync(import.meta.dir).filter((name) => name.endsWith(".ts") && !/\.test\.ts$|^migrat/.test(name));
  const text = files.map((name) => ({ name, text: readFileSync(join(import.meta.dir, name), "utf8") }));
  const found = text.flatMap((file) => writesOf(file.text));
  expect(new Set(found.flatMap(({ tables }) => tables))).toEqual(
    new Set([
      "sandboxes",
      "templates",
      "template_builds",
      "template_tags",
      "api_keys",
      "teams",
      "volumes",
      "checkpoints",
      "secrets",
      "webhooks",
      "recordings",
    ]),
  );
  // Each statement was found in a method.
  const all = text.flatMap((file) => [...file.text.matchAll(WRITE)]);
  expect(found.flatMap(({ tables }) => tables)).toHaveLength(all.length);
  expect(silentOnes(found)).toEqual([]);
  expect(Object.keys(SILENT).filter((silent) => !found.some(({ name }) => name === silent))).toEqual([]);
});
