import { afterAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readTestConfig, runProgram } from "@boxyard/testkit";
import { BOXYARD } from "./support.ts";

const config = readTestConfig();
const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0" };
const boxyard = (...args: readonly string[]) => runProgram([BOXYARD, ...args], { env });
const sandboxesDir = join(config.dataDir, "sandboxes");

afterAll(async () => {
  await boxyard("down", "--sandboxes");
});

/** A directory with something in it, in the place of a file of a sandbox. */
function putDirectory(id: string, name: string): void {
  const path = join(sandboxesDir, id, name);
  rmSync(path, { recursive: true, force: true });
  mkdirSync(join(path, "in"), { recursive: true });
}

interface Check {
  readonly name: string;
  readonly status: string;
  readonly found: string;
}

async function orphansOfDoctor(): Promise<Check | undefined> {
  const { stdout } = await boxyard("doctor", "--json");
  return (JSON.parse(stdout) as { checks: Check[] }).checks.find(({ name }) => name === "orphans");
}

test("directories in the place of state files, and damaged locks, stop neither up nor doctor nor down --sandboxes", async () => {
  expect((await boxyard("up", "-d")).exitCode).toBe(0);
  const create = async () => {
    const { exitCode, stdout, stderr } = await boxyard("sandbox", "create");
    expect([exitCode, stderr]).toEqual([0, ""]);
    return stdout.trim();
  };
  const [one, both] = [await create(), await create()];
  putDirectory(one, "state.json");
  for (const name of ["state.json", "state.copy.json"]) putDirectory(both, name);
  expect((await boxyard("down")).exitCode).toBe(0);
  for (const name of ["start.lock", "server.lock"]) writeFileSync(join(config.dataDir, name), "no database ".repeat(500));

  const up = await boxyard("up", "-d");
  expect([up.exitCode, up.stdout]).toEqual([0, expect.stringMatching(/^The server runs at /)]);
  expect((await boxyard("exec", one, "--", "echo", "here")).stdout).toBe("here\n");
  expect(readdirSync(join(sandboxesDir, one)).filter((name) => name.endsWith(".new"))).toEqual([]);
  const found = await orphansOfDoctor();
  expect([found?.status, found?.found]).toEqual([
    "warn",
    expect.stringContaining(`state.json and its copy, or the files of a pause, are damaged: ${both}`),
  ]);

  const down = await boxyard("down", "--sandboxes");
  expect([down.exitCode, down.stderr]).toEqual([0, ""]);
  expect(readdirSync(sandboxesDir).filter((name) => name === one || name === both)).toEqual([]);
  expect((await orphansOfDoctor())?.status).toBe("ok");
}, 120_000);
