import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type ProgramOptions, readTestConfig, runProgram } from "@boxyard/testkit";
import { BOXYARD } from "./support.ts";

const config = readTestConfig();
const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0" };
const boxyard = (args: readonly string[], options: ProgramOptions = {}) =>
  runProgram([BOXYARD, ...args], { ...options, env: { ...env, ...options.env } });
/** Everything logged so far; a data folder whose servers were all started by tests has no log yet. */
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

test("a server.json whose pid is another process's now is not believed, and that process is left alone", async () => {
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

test("a server that cannot start says why, with the end of its log", async () => {
  await boxyard(["down"]);
  rmSync(join(config.dataDir, "server.json"), { force: true });
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as { port: number };
  const failed = await boxyard(["run", "--", "true"], { env: { BOXYARD_LISTEN: `127.0.0.1:${port}` } });
  taken.close();
  expect([failed.exitCode, failed.stdout]).toEqual([125, ""]);
  expect(failed.stderr).toContain("error: the server ended with exit code 1");
  expect(failed.stderr).toContain(`${port}`);
  expect(failed.stderr).toContain("`boxyard doctor`");
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
