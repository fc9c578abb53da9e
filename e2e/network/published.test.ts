import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";
import { publishedCases, publishedUpdates } from "./published-cases.ts";
import { networkProgram, World } from "./world.ts";

/* Options of the network, and updates, of the published clients as they stand, against the servers of the matrix. */
const program = await networkProgram();
const world = new World();
await world.open(program);
afterAll(() => world[Symbol.asyncDispose]());
const platform = usePlatform({ env: world.settings });
const file = join(world.directory, "cases.json");
writeFileSync(file, JSON.stringify({ cases: publishedCases(world.at), updates: publishedUpdates(world.at) }));

let python = "";
beforeAll(async () => {
  python = await pythonClient();
}, 240_000);

for (const language of ["mjs", "py"] as const) {
  test(`each option of the network and each update holds for the published client, published.${language}`, async () => {
    const runtime = language === "mjs" ? "node" : python;
    const argv = [runtime, join(CHECKOUT, `e2e/network/published.${language}`), file];
    const { exitCode, stdout, stderr } = await runProgram(argv, { env: platform().env, limitMs: 170_000 });
    expect({ exitCode, stdout, stderr: exitCode === 0 ? "" : stderr }).toEqual({ exitCode: 0, stdout: "[]\n", stderr: "" });
  }, 180_000);
}
