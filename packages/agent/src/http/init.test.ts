import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { SandboxState } from "../access/sandbox-state.ts";
import { BodyBudget } from "../body/budget.ts";
import type { Freezer } from "../cgroup/freezer.ts";
import { initRoute } from "./init.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-init-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

/** An `/init` route, and the state at each thaw. */
function agent() {
  const state = new SandboxState();
  const thaws: unknown[] = [];
  const thaw = async () => void thaws.push({ token: state.accessToken, user: state.defaultUser, a: state.env.A });
  const route = initRoute({
    state,
    freezer: { thaw } as unknown as Freezer,
    oomKills: { read: () => 0 },
    bodies: new BodyBudget({ totalBytes: 1e6, freeBytes: 0, waitMs: 0, collectBytes: 1e9 }, () => {}),
    initKey: "key",
    hostDir: directory,
    runDir: join(directory, "run"),
    etcDir: directory,
    caBundlePath: join(directory, "ca"),
    javaStorePath: join(directory, "cacerts"),
    onReady: () => {},
  });
  const init = async (body: string, key = "key") => {
    const request = new Request("http://agent/init", { method: "POST", headers: { "X-Init-Key": key }, body });
    const call = { request, signal: request.signal, query: new URLSearchParams() };
    return Promise.resolve(route.handle(call)).then(
      (response) => response.status,
      (error) => (error instanceof AppError ? error.code : error),
    );
  };
  return { init, thaws };
}

test("a call sets its values before it thaws", async () => {
  const { init, thaws } = agent();
  expect(await init('{"accessToken":"t","defaultUser":"me","envVars":{"A":"1"},"timestamp":"2030-01-01T00:00:00Z"}')).toBe(204);
  expect(thaws).toEqual([{ token: "t", user: "me", a: "1" }]);
});

test("every authorised call thaws: also a stale one, a malformed one, and one that fails; a call without the key does not", async () => {
  const { init, thaws } = agent();
  await init('{"timestamp":"2030-01-01T00:00:00Z"}');
  expect(await init('{"timestamp":"2001-01-01T00:00:00Z","accessToken":"t"}')).toBe(204);
  expect(await init("{")).toBe("invalid_argument");
  expect(await init('{"defaultUser":1}')).toBe("invalid_argument");
  rmSync(directory, { recursive: true });
  await Bun.write(directory, "a file where a directory should be");
  expect(await init('{"caBundle":"pem"}')).toBe("invalid_argument");
  expect(await init("{}", "wrong")).toBe("unauthenticated");
  expect(thaws).toEqual(new Array(5).fill({ token: undefined, user: undefined, a: undefined }));
});

test("a key in a file of the driver replaces the key of the agent", async () => {
  const { init } = agent();
  await Bun.write(join(directory, "init-key"), "renewed\n");
  expect([await init("{}", "renewed"), await init("{}"), await init("{}", "")]).toEqual([204, "unauthenticated", "unauthenticated"]);
});
