import { afterAll, beforeAll, expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { CHECKOUT, eventually, SERVER_PROGRAMS } from "@boxyard/testkit";
import { asAdministrator, PodsServer } from "./pods-server.ts";

/*
 * The server with sandboxes that are pods, on the cluster of `./boxyard test kubernetes`: the same API and client as on one machine.
 */

const LIMIT_MS = 120_000;

let server: PodsServer;

beforeAll(async () => {
  server = await PodsServer.start("boxyard", { BOXYARD_WARM_SANDBOXES: "0" });
}, LIMIT_MS);
afterAll(() => server?.stop(), LIMIT_MS);

test(
  "a sandbox is created, used and killed by the client that is used on one machine",
  async () => {
    const sandbox = await Sandbox.create(server.options);
    const { stdout } = await sandbox.commands.run("echo $((6*7)); id -un");
    expect(stdout).toBe("42\nuser\n");
    await sandbox.files.write("/home/user/a", "kept");
    expect(await sandbox.files.read("/home/user/a")).toBe("kept");
    expect(await sandbox.kill()).toBe(true);
    expect((await Sandbox.list(server.options).nextItems()).map(({ sandboxId }) => sandboxId)).toEqual([]);
  },
  LIMIT_MS,
);

test(
  "a sandbox outlives a server that is killed",
  async () => {
    const sandbox = await Sandbox.create(server.options);
    await sandbox.files.write("/home/user/a", "kept");
    await server.kill9();
    await server.boot();
    const again = await Sandbox.connect(sandbox.sandboxId, server.options);
    expect(await again.files.read("/home/user/a")).toBe("kept");
    await again.kill();
  },
  LIMIT_MS,
);

test(
  "the doctor finds the cluster, and that the account has the rights of the document",
  async () => {
    const doctor = Bun.spawn([process.execPath, SERVER_PROGRAMS.plain, "doctor", "--json"], {
      cwd: CHECKOUT,
      env: server.env,
      stdout: "pipe",
      stderr: "inherit",
    });
    const { checks } = (await new Response(doctor.stdout).json()) as { checks: { name: string; status: string }[] };
    expect(checks.slice(0, 2)).toMatchObject([
      { name: "cluster", status: "ok" },
      { name: "rights", status: "ok" },
    ]);
  },
  LIMIT_MS,
);

test(
  "what a cluster cannot do is refused with the reason, and the sandbox goes on",
  async () => {
    const sandbox = await Sandbox.create(server.options);
    await expect(sandbox.pause()).rejects.toThrow("cannot be paused on this server");
    expect((await sandbox.commands.run("echo on")).stdout).toBe("on\n");
    await sandbox.kill();
  },
  LIMIT_MS,
);

test(
  "a pod that somebody deletes ends its sandbox, and the store learns it",
  async () => {
    const sandbox = await Sandbox.create(server.options);
    await asAdministrator("DELETE", `${server.pods}/sandbox-${sandbox.sandboxId}`);
    await eventually("the sandbox is gone", async () => !(await sandbox.isRunning()), { withinMs: 60_000 });
  },
  LIMIT_MS,
);

test(
  "the size of a running sandbox is changed, and the sandbox sees it",
  async () => {
    const sandbox = await Sandbox.create(server.options);
    const limits = async () => JSON.parse(await sandbox.files.read("/.boxyard/host/limits.json", { user: "root" })).memoryBytes / 2 ** 20;
    expect(await limits()).toBe(128);
    await sandbox.resize({ memoryMB: 192, cpuCount: 2 });
    await eventually("the file has the new limit", async () => (await limits()) === 192, { withinMs: 90_000 });
    expect((await sandbox.commands.run("echo on")).stdout).toBe("on\n");
    await sandbox.kill();
  },
  LIMIT_MS,
);
