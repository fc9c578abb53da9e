import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { CLIENTS, cases, expected, type PolicyName, policies } from "./cases.ts";
import { networkProgram, World } from "./world.ts";

/*
 * The table of cases.ts, each policy in a sandbox of its own, tried by curl, Python, Node, Go and raw sockets: at the create, by an update, and after all that
 * a sandbox is taken through. Servers are in namespaces of this test.
 */
const program = await networkProgram();
const world = new World();
await world.open(program);
afterAll(() => world[Symbol.asyncDispose]());
const platform = usePlatform({ env: world.settings });
const ours = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

const all = policies(world.at);
const names = Object.keys(all) as PolicyName[];
const rows = cases(world.at).map((row, index) => ({ id: `${index}`, ...row }));

/** At once, since each keeps four programs busy. */
const AT_ONCE = 3;

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const worker = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

async function prepare(sandbox: Sandbox): Promise<void> {
  const probe = (name: string) => readFileSync(join(CHECKOUT, "e2e/network", name), "utf8");
  await sandbox.files.write("/opt/matrix/network", readFileSync(program), { user: "root" });
  for (const name of ["probe.py", "probe.mjs"]) await sandbox.files.write(`/opt/matrix/${name}`, probe(name), { user: "root" });
  const asked = rows.map(({ id, kind, host, at }) => ({ id, kind, host, ...(at && { at }) }));
  await sandbox.files.write("/opt/matrix/rows.json", JSON.stringify(asked), { user: "root" });
  await sandbox.commands.run("chmod +x /opt/matrix/network", { user: "root" });
}

/** Attempts that did not end as the table says; none if all is well. */
async function wrong(sandbox: Sandbox, policy: PolicyName): Promise<string[]> {
  const { stdout } = await sandbox.commands.run("python3 /opt/matrix/probe.py /opt/matrix/rows.json", { user: "root", timeoutMs: 120_000 });
  const verdicts = JSON.parse(stdout) as Record<string, Record<string, string>>;
  return Object.entries(CLIENTS).flatMap(([client, kinds]) =>
    rows
      .filter(({ kind }) => kinds.includes(kind))
      .flatMap((row) => {
        const [got, wanted] = [verdicts[client]?.[row.id], expected(row, policy)];
        return got === wanted ? [] : [`${policy}: ${client} ${row.kind} ${row.host} ${row.at ?? ""}: ${got}, not ${wanted}`];
      }),
  );
}

const sandboxes = new Map<PolicyName, Sandbox>();

async function allHold(state: string): Promise<void> {
  const found: string[] = [];
  await each([...sandboxes], async ([policy, sandbox]) => {
    found.push(...(await wrong(sandbox, policy)));
  });
  expect([state, found]).toEqual([state, []]);
}

test("what no sandbox reaches is there: the machine reaches it", async () => {
  for (const name of ["private", "metadata", "machine"] as const) {
    const { stdout } = await runProgram(["curl", "-s", "--noproxy", "*", `http://${world.at[name]}/`]);
    expect(stdout).toBe(`${name} plain`);
  }
});

test("at the create, after pauses, in forks and after a restart of the server, each kind of rule holds for each client", async () => {
  await each(names, async (policy) => {
    const sandbox = await Sandbox.create({ ...ours(), network: all[policy] });
    sandboxes.set(policy, sandbox);
    await prepare(sandbox);
  });
  await allHold("created");
  const forks = new Map<PolicyName, Sandbox>();
  for (const keepMemory of [true, false]) {
    await each([...sandboxes], async ([policy, sandbox]) => {
      await sandbox.pause({ keepMemory });
      sandboxes.set(policy, await Sandbox.connect(sandbox.sandboxId, ours()));
    });
    await allHold(`resumed ${keepMemory ? "with its memory" : "from its disk"}`);
  }
  await each([...sandboxes], async ([policy, sandbox]) => {
    const [copy] = await sandbox.fork();
    if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
    forks.set(policy, copy.sandbox);
  });
  const found: string[] = [];
  await each([...forks], async ([policy, copy]) => {
    found.push(...(await wrong(copy, policy)));
    await copy.kill();
  });
  expect(found).toEqual([]);
  await platform().kill9();
  await platform().restart();
  await allHold("after a restart of the server");
}, 300_000);

test("a running sandbox takes each kind of rule, one after the other", async () => {
  const sandbox = sandboxes.get("open") as Sandbox;
  const found: string[] = [];
  for (const policy of names.toReversed()) {
    await sandbox.updateNetwork(all[policy]);
    found.push(...(await wrong(sandbox, policy)));
  }
  expect(found).toEqual([]);
}, 120_000);
