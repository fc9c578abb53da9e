import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

const LOGIN = { username: "tester", password: "secret" };
const platform = usePlatform();
let registry: TestRegistry;

beforeAll(async () => {
  registry = await startRegistry({ login: LOGIN });
  await pushTinyImage("tiny", { Env: ["PATH=/bin", "FROM_IMAGE=yes"], WorkingDir: "/elsewhere" }, { host: registry.host, login: LOGIN });
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
});

test("the published client builds on an image of a registry that asks for a login", async () => {
  const program = join(CHECKOUT, "e2e/clients/js/run.mjs");
  const env = { ...platform().env, IMAGE: `${registry.host}/tiny`, IMAGE_USER: LOGIN.username, IMAGE_PASSWORD: LOGIN.password };
  const ended = await runProgram(["node", program, "e2b", "from-image", "registry"], { env, limitMs: 100_000 });
  expect(ended.stdout + ended.stderr).toBe("");
  expect(ended.exitCode).toBe(0);
}, 120_000);
