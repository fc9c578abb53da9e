import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { processStat } from "@boxyard/core/node";
import { eventually, type ProgramOptions, readTestConfig, runProgram } from "@boxyard/testkit";
import { BOXYARD } from "./support.ts";

const config = readTestConfig();
const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0" };
const boxyard = (args: readonly string[], options: ProgramOptions = {}) =>
  runProgram([BOXYARD, ...args], { ...options, env: { ...env, ...options.env } });
/** Everything logged so far; a data directory whose servers were all started by tests has no log yet. */
const serverLog = () => {
  const path = join(config.dataDir, "server.log");
  return existsSync(path) ? readFileSync(path, "utf8") : "";
};
const serverFile = () =>
  JSON.parse(readFileSync(join(config.dataDir, "server.json"), "utf8")) as { pid: number; startTimeTicks: number; url: string };

afterAll(async () => {
  await boxyard(["down"]);
});

test("four runs at once, with no server running, start one", async () => {
  await boxyard(["down"]);
  const before = serverLog().length;
  const runs = await Promise.all([1, 2, 3, 4].map((i) => boxyard(["run", "--", "echo", `${i}`])));
  expect(runs.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n", "3\n", "4\n"]);
  const log = serverLog().slice(before);
  expect(log.split('"msg":"server started"').length - 1).toBe(1);
}, 60_000);

test("a server that was killed is started again, and its sandboxes are still there", async () => {
  const created = await boxyard(["sandbox", "create"]);
  const { pid } = serverFile();
  process.kill(pid, "SIGKILL");
  const again = await boxyard(["exec", created.stdout.trim(), "--", "echo", "still here"]);
  expect([again.exitCode, again.stdout]).toEqual([0, "still here\n"]);
  expect(serverFile().pid).not.toBe(pid);
  expect((await boxyard(["sandbox", "kill", created.stdout.trim()])).exitCode).toBe(0);
}, 60_000);

test("a server in the background that crashes comes back by itself; `down` ends it and its supervisor", async () => {
  await boxyard(["up", "-d"]);
  const supervisor = () => JSON.parse(readFileSync(join(config.dataDir, "supervisor.json"), "utf8")) as { pid: number; server: number };
  const { pid } = serverFile();
  const keeper = supervisor().pid;
  expect(supervisor().server).toBe(pid);
  process.kill(pid, "SIGKILL");
  const back = await eventually("another server answers", async () => {
    const file = serverFile();
    return file.pid !== pid && (await fetch(`${file.url}/health`)).ok ? file.pid : undefined;
  });
  expect(supervisor()).toMatchObject({ pid: keeper, server: back });
  expect((await boxyard(["down"])).stdout).toBe(`The server (pid ${back}) has ended.\n`);
  for (const ended of [keeper, back]) expect(processStat(ended)).toBeUndefined();
  expect(existsSync(join(config.dataDir, "supervisor.json"))).toBe(false);
}, 60_000);

test("a server.json whose pid belongs to another process now is ignored, and that process is left alone", async () => {
  await boxyard(["down"]);
  const bystander = Bun.spawn(["sleep", "60"]);
  writeFileSync(
    join(config.dataDir, "server.json"),
    JSON.stringify({ version: 1, pid: bystander.pid, startTimeTicks: 1, url: "http://127.0.0.1:1" }),
  );
  expect((await boxyard(["down"])).stdout).toBe("No server is running.\n");
  expect((await boxyard(["run", "--", "echo", "fine"])).stdout).toBe("fine\n");
  expect(bystander.exitCode).toBeNull();
  bystander.kill();
}, 60_000);

test("key rotate-store: refused beside a server; afterwards what the old key had sealed is there", async () => {
  await boxyard(["up", "-d"]);
  const name = `rotated-${crypto.randomUUID().slice(0, 8)}`;
  expect((await boxyard(["secret", "create", name], { stdin: "value-of-before" })).exitCode).toBe(0);
  const box = (await boxyard(["sandbox", "create", "-e", "KEPT=of-before"])).stdout.trim();
  const refused = await boxyard(["key", "rotate-store"]);
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining("Another server is working")]);
  const before = readFileSync(join(config.dataDir, "store-key"), "utf8");
  const rotated = await boxyard(["down"]).then(() => boxyard(["key", "rotate-store"]));
  expect([rotated.exitCode, rotated.stdout]).toEqual([
    0,
    expect.stringMatching(/^The store has another key; \d+ texts were sealed anew\.\n$/),
  ]);
  expect(readFileSync(join(config.dataDir, "store-key"), "utf8")).not.toBe(before);
  await boxyard(["up", "-d"]);
  expect((await boxyard(["exec", box, "--", "printenv", "KEPT"])).stdout).toBe("of-before\n");
  const ran = await boxyard(["run", "--env-secret", `S=${name}`, "--", "printenv", "S"]);
  expect([ran.stdout, ran.stderr]).toEqual(["value-of-before\n", ""]);
  for (const args of [
    ["sandbox", "kill", box],
    ["secret", "delete", name],
  ])
    expect((await boxyard(args)).exitCode).toBe(0);
}, 120_000);

test("a server that cannot start says why, and nothing else", async () => {
  await boxyard(["down"]);
  rmSync(join(config.dataDir, "server.json"), { force: true });
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  const failed = await boxyard(["run", "--", "true"], { env: { BOXYARD_LISTEN: `127.0.0.1:${port}` } });
  taken.close();
  expect([failed.exitCode, failed.stdout]).toEqual([125, ""]);
  expect(failed.stderr.split("\n")).toEqual([
    `error: the server ended with exit code 1: Cannot listen on 127.0.0.1:${port}: another program has this port; BOXYARD_LISTEN chooses another`,
    `Its log is ${join(config.dataDir, "server.log")}. \`boxyard doctor\` says what this machine lacks.`,
    "",
  ]);
}, 60_000);

test("up logs text on a terminal and JSON elsewhere, unless an option says which", async () => {
  await boxyard(["down"]);
  const lines = async (argv: string[]) => {
    const child = Bun.spawn(argv, { env: { ...env, TERM: "xterm" }, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    let text = "";
    const read = async (stream: ReadableStream<Uint8Array>) => {
      for await (const chunk of stream) text += new TextDecoder().decode(chunk);
    };
    const readers = [read(child.stdout), read(child.stderr)];
    await eventually("it runs", () => /server started/.test(text) && /Boxyard runs at/.test(text), { withinMs: 30_000 });
    await boxyard(["down"]);
    await child.exited;
    await Promise.all(readers);
    return text.split(/\r?\n/).filter((line) => line.includes("server started"));
  };
  const forPeople = /^\d\d:\d\d:\d\d INFO {2}server started url=http:\/\/127\.0\.0\.1:\d+ adopted=/;
  expect(await lines(["script", "-qec", `${BOXYARD} up`, "/dev/null"])).toEqual([expect.stringMatching(forPeople)]);
  expect(await lines([BOXYARD, "up"])).toEqual([expect.stringMatching(/^\{"level":30,/)]);
  expect(await lines([BOXYARD, "up", "--log-format", "text"])).toEqual([expect.stringMatching(forPeople)]);
}, 120_000);

test("down after the address range was changed ends everything, without a stack trace", async () => {
  await boxyard(["up", "-d"]);
  expect((await boxyard(["sandbox", "create"])).exitCode).toBe(0);
  const changed = { env: { BOXYARD_NETWORK: "10.213.0.0/16" } };
  const down = await boxyard(["down", "--sandboxes"], changed);
  expect({ exitCode: down.exitCode, stdout: down.stdout, stderr: down.stderr }).toEqual({
    exitCode: 0,
    stdout: expect.stringMatching(/^The server \(pid \d+\) has ended\.\nEvery sandbox has ended, and nothing is left of them\.\n$/),
    stderr: "",
  });
}, 60_000);

test("up says that a server runs already, and stays in the foreground until it is told to end", async () => {
  await boxyard(["down"]);
  const child = Bun.spawn([BOXYARD, "up"], { env, stdout: "pipe", stderr: "pipe" });
  const reader = child.stderr.getReader();
  let text = "";
  while (!text.includes("Boxyard runs at")) {
    const { done, value } = await reader.read();
    expect(done).toBe(false);
    text += new TextDecoder().decode(value);
  }
  const second = await boxyard(["up"]);
  expect([second.exitCode, second.stderr]).toEqual([1, expect.stringContaining("a server is running already")]);
  expect((await boxyard(["up", "-d"])).stdout).toMatch(/^The server is running already at http:\/\/127\.0\.0\.1:\d+ /);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(143);
  expect((await boxyard(["down"])).stdout).toBe("No server is running.\n");
}, 60_000);
