import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { boot, type ContractSubject, codeOf, health, never, reasonOf, type Subject, TIMEOUT_MS } from "./contract-subject.ts";
import { networkTests } from "./contract-suite-network.ts";
import { pauseTests } from "./contract-suite-pause.ts";
import { snapshotTests } from "./contract-suite-snapshots.ts";
import type { SandboxDriver } from "./driver.ts";
import type { SandboxHandle } from "./types.ts";

export type { ContractSubject } from "./contract-subject.ts";

/** A real driver sets a machine up first, an emulated one perhaps. */
const MAKE_TIMEOUT_MS = 600_000;

/** Proves every guarantee in the prose of `SandboxDriver`; the same suite for every driver. Uses `bun:test`. */
export function driverContract(name: string, make: () => Promise<ContractSubject>): void {
  describe(`driver contract: ${name}`, () => {
    const holder: { subject?: ContractSubject } = {};
    const subject = () => {
      if (!holder.subject) throw new Error("the subject was not made");
      return holder.subject;
    };

    beforeAll(async () => {
      holder.subject = await make();
    }, MAKE_TIMEOUT_MS);
    afterEach(async () => {
      subject().mend();
      const { driver } = subject();
      for (const handle of await driver.list()) await driver.destroy(handle);
    }, TIMEOUT_MS);
    afterAll(() => holder.subject?.dispose(), TIMEOUT_MS);

    describe("create", () => createTests(subject));
    describe("start", () => startTests(subject));
    describe("end", () => endTests(subject));
    describe("destroy", () => destroyTests(subject));
    describe("freeze", () => freezeTests(subject));
    describe("pause and resume", () => pauseTests(subject));
    describe("snapshots", () => snapshotTests(subject));
    describe("restart of the server", () => restartTests(subject));
    describe("abilities and accounts", () => abilityTests(subject));
    describe("network", () => networkTests(subject));
  });
}

const listed = async (driver: SandboxDriver) => (await driver.list()).map((handle) => handle.sandboxId);

function createTests(subject: Subject): void {
  test("leaves a sandbox of which nothing runs", async () => {
    const { driver } = subject();
    const spec = { ...subject().spec(), labels: { owner: "tests" } };
    const handle = await driver.create(spec, never);
    expect(handle).toEqual({ driver: driver.name, sandboxId: spec.sandboxId, incarnation: spec.incarnation });
    expect(await driver.inspect(handle)).toEqual({ handle, phase: "created", frozen: false, labels: { owner: "tests" } });
    expect(await listed(driver)).toEqual([spec.sandboxId]);
    expect(await driver.wait(handle, never)).toEqual({ reason: "unknown" });
    expect(await codeOf(driver.signal(handle, "SIGKILL"))).toBe("not_found");
  });

  test("keeps what a server that has lost its store must know", async () => {
    const { driver } = subject();
    const spec = { ...subject().spec(), labels: { owner: "tests" }, restrictions: { noPtrace: true } };
    const handle = await driver.create(spec, never);
    const { agent, hostname: _, ...kept } = spec;
    expect(await driver.keptSpec(handle)).toEqual({ ...kept, initKey: agent.initKey });
    expect(await codeOf(driver.keptSpec({ ...handle, incarnation: 2 }))).toBe("not_found");
  });

  test("gives a handle that survives being written down", async () => {
    const { driver } = subject();
    const handle = JSON.parse(JSON.stringify(await driver.create(subject().spec(), never))) as SandboxHandle;
    expect((await driver.inspect(handle)).phase).toBe("created");
  });

  test("refuses what is left of the same id", async () => {
    const { driver } = subject();
    const spec = subject().spec();
    const handle = await driver.create(spec, never);
    expect(await codeOf(driver.create(spec, never))).toBe("already_exists");
    expect((await driver.inspect(handle)).phase).toBe("created");
  });

  test("refuses an image it does not have, and leaves nothing", async () => {
    const { driver } = subject();
    const digest = `sha256:${"0".repeat(64)}`;
    const spec = { ...subject().spec(), image: { digest, layers: [digest] } };
    expect(await reasonOf(driver.create(spec, never))).toBe("image_not_found");
    expect(await codeOf(driver.create(spec, never))).toBe("not_found");
    expect(await listed(driver)).toEqual([]);
  });

  test("validates the spec once more, and leaves nothing", async () => {
    const { driver } = subject();
    const spec = subject().spec();
    const resources = { ...spec.resources, memoryBytes: -1 };
    expect(await codeOf(driver.create({ ...spec, resources }, never))).toBe("invalid_argument");
    expect(await codeOf(driver.create({ ...spec, labels: { big: "x".repeat(5_000) } }, never))).toBe("invalid_argument");
    expect(await codeOf(driver.create({ ...spec, incarnation: 0 }, never))).toBe("invalid_argument");
    expect(await listed(driver)).toEqual([]);
  });

  test("leaves nothing when its signal has aborted", async () => {
    const { driver } = subject();
    const reason = new Error("changed my mind");
    const error = await driver.create(subject().spec(), AbortSignal.abort(reason)).catch((e: unknown) => e);
    expect(error).toBe(reason);
    expect(await listed(driver)).toEqual([]);
  });
}

function startTests(subject: Subject): void {
  test(
    "resolves when the agent answers",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      expect(await health(await driver.address(handle))).toBe(204);
      expect((await driver.inspect(handle)).phase).toBe("running");
    },
    TIMEOUT_MS,
  );

  test(
    "is done once",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      expect(await codeOf(driver.start(handle, never))).toBe("failed_precondition");
      expect(await health(await driver.address(handle))).toBe(204);
    },
    TIMEOUT_MS,
  );

  test(
    "leaves nothing when it is aborted",
    async () => {
      const { driver } = subject();
      const handle = await driver.create(subject().spec(), never);
      subject().breakStarts();
      const abort = new AbortController();
      const start = driver.start(handle, abort.signal).catch((e: unknown) => e);
      const reason = new Error("enough");
      setTimeout(() => abort.abort(reason), 50);
      expect(await start).toBe(reason);
      expect(await listed(driver)).toEqual([]);
      expect(await codeOf(driver.inspect(handle))).toBe("not_found");
      await driver.destroy(handle);
    },
    TIMEOUT_MS,
  );

  test("of what is not there is not_found", async () => {
    const { driver } = subject();
    const handle = { driver: driver.name, sandboxId: newSandboxId(), incarnation: 1 };
    expect(await codeOf(driver.start(handle, never))).toBe("not_found");
  });

  test(
    "gives sandboxes addresses of their own, and each incarnation a fresh one",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const [first, other] = [await boot(subject(), spec), await boot(subject())];
      const before = await driver.address(first);
      expect(await driver.address(other)).not.toEqual(before);
      await driver.destroy(first);
      const second = await boot(subject(), { ...spec, incarnation: 2 });
      expect(await driver.address(second)).not.toEqual(before);
    },
    TIMEOUT_MS,
  );

  test(
    "of a later incarnation makes older handles not_found",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject(), { ...subject().spec(), incarnation: 2 });
      const old = { ...handle, incarnation: 1 };
      const calls = [
        driver.inspect(old),
        driver.recover(old),
        driver.stats(old),
        driver.address(old),
        driver.signal(old, "SIGKILL"),
        driver.wait(old, never),
        driver.freeze(old),
        driver.thaw(old),
        driver.start(old, never),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "not_found"));
      await driver.destroy(old);
      expect(await health(await driver.address(handle))).toBe(204);
    },
    TIMEOUT_MS,
  );
}

function endTests(subject: Subject): void {
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    test(
      `${signal} ends it as killed`,
      async () => {
        const { driver } = subject();
        const handle = await boot(subject());
        const ended = driver.wait(handle, never);
        await driver.signal(handle, signal);
        expect(await ended).toEqual({ reason: "killed" });
        const status = await driver.inspect(handle);
        expect([status.phase, status.exit]).toEqual(["stopped", { reason: "killed" }]);
        expect(await driver.wait(handle, never)).toEqual({ reason: "killed" });
        expect(await codeOf(driver.signal(handle, signal))).toBe("not_found");
        expect(await listed(driver)).toEqual([handle.sandboxId]);
      },
      TIMEOUT_MS,
    );
  }

  test(
    "the agent's end is the sandbox's",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const ended = driver.wait(handle, never);
      await subject().endAgent(handle);
      expect(await ended).toEqual({ reason: "agent_exited" });
      expect((await driver.inspect(handle)).exit).toEqual({ reason: "agent_exited" });
    },
    TIMEOUT_MS,
  );

  test(
    "a wait can be given up, and there may be many",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      const abort = new AbortController();
      const [given, kept] = [driver.wait(handle, abort.signal).catch((e: unknown) => e), driver.wait(handle, never)];
      const reason = new Error("no longer interested");
      abort.abort(reason);
      expect(await given).toBe(reason);
      expect((await driver.inspect(handle)).phase).toBe("running");
      await driver.destroy(handle);
      expect(await kept).toEqual({ reason: "killed" });
    },
    TIMEOUT_MS,
  );
}

function destroyTests(subject: Subject): void {
  test(
    "works from every phase, and again",
    async () => {
      const { driver } = subject();
      const created = await driver.create(subject().spec(), never);
      const running = await boot(subject());
      const frozen = await boot(subject());
      if (driver.capabilities.freeze) await driver.freeze(frozen);
      const stopped = await boot(subject());
      await driver.signal(stopped, "SIGKILL");
      for (const handle of [created, running, frozen, stopped]) {
        await driver.destroy(handle);
        await driver.destroy(handle);
        expect(await codeOf(driver.inspect(handle))).toBe("not_found");
      }
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test("of what never was succeeds", async () => {
    const { driver } = subject();
    await driver.destroy({ driver: driver.name, sandboxId: newSandboxId(), incarnation: 1 });
    expect(await listed(driver)).toEqual([]);
  });

  test(
    "called many times at once succeeds, and the id is free again",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const handle = await boot(subject(), spec);
      await Promise.all([driver.destroy(handle), driver.destroy(handle), driver.destroy(handle)]);
      expect((await driver.inspect(await driver.create(spec, never))).phase).toBe("created");
    },
    TIMEOUT_MS,
  );
}

function freezeTests(subject: Subject): void {
  test(
    "stops everything, the agent too, until the thaw; both are repeatable",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.freeze) {
        expect(await codeOf(driver.freeze(handle))).toBe("unimplemented");
        return;
      }
      const address = await driver.address(handle);
      await driver.freeze(handle);
      await driver.freeze(handle);
      const status = await driver.inspect(handle);
      expect([status.phase, status.frozen]).toEqual(["running", true]);
      expect(await health(address, 300)).toBeUndefined();
      await driver.thaw(handle);
      await driver.thaw(handle);
      expect((await driver.inspect(handle)).frozen).toBe(false);
      expect(await health(address)).toBe(204);
    },
    TIMEOUT_MS,
  );

  test(
    "does not keep a sandbox from being killed",
    async () => {
      const { driver } = subject();
      const handle = await boot(subject());
      if (!driver.capabilities.freeze) {
        expect(await codeOf(driver.thaw(handle))).toBe("unimplemented");
        return;
      }
      await driver.freeze(handle);
      const ended = driver.wait(handle, never);
      await driver.signal(handle, "SIGKILL");
      expect(await ended).toEqual({ reason: "killed" });
    },
    TIMEOUT_MS,
  );
}

function restartTests(subject: Subject): void {
  test(
    "a new driver lists, recovers and ends what an earlier one made",
    async () => {
      const spec = { ...subject().spec(), labels: { team: "t" } };
      const handle = await boot(subject(), spec);
      const address = await subject().driver.address(handle);
      const created = await subject().driver.create(subject().spec(), never);
      await subject().reopen();
      const { driver } = subject();
      expect((await listed(driver)).sort()).toEqual([handle.sandboxId, created.sandboxId].sort());
      expect(await driver.recover(handle)).toEqual({ handle, phase: "running", frozen: false, labels: { team: "t" } });
      expect((await driver.recover(created)).phase).toBe("created");
      expect(await driver.address(handle)).toEqual(address);
      expect(await health(address)).toBe(204);
      const fresh = await driver.create(subject().spec(), never);
      await driver.start(fresh, never);
      expect(await driver.address(fresh)).not.toEqual(address);
      const ended = driver.wait(handle, never);
      await driver.signal(handle, "SIGKILL");
      expect(await ended).toEqual({ reason: "killed" });
      for (const left of [handle, created, fresh]) await driver.destroy(left);
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "closing a driver ends no sandbox",
    async () => {
      const handle = await boot(subject());
      const address = await subject().driver.address(handle);
      for (let i = 0; i < 3; i++) await subject().reopen();
      expect(await health(address)).toBe(204);
      expect((await subject().driver.recover(handle)).phase).toBe("running");
    },
    TIMEOUT_MS,
  );

  test("what was never there, or is gone, is not_found", async () => {
    await subject().reopen();
    const { driver } = subject();
    const handle = { driver: driver.name, sandboxId: newSandboxId(), incarnation: 1 };
    expect(await codeOf(driver.recover(handle))).toBe("not_found");
  });

  test(
    "a half-made sandbox is listed, is never taken for a whole one, and can be destroyed",
    async () => {
      const handle = await subject().leaveHalfMade();
      await subject().reopen();
      const { driver } = subject();
      expect(await listed(driver)).toEqual([handle.sandboxId]);
      const [left] = await driver.list();
      if (!left) throw new Error("nothing is listed");
      expect(await codeOf(driver.recover(left))).toBe("not_found");
      expect(await codeOf(driver.start(left, never))).toBe("not_found");
      await driver.destroy(left);
      expect(await listed(driver)).toEqual([]);
    },
    TIMEOUT_MS,
  );
}

function abilityTests(subject: Subject): void {
  test(
    "counts what a running sandbox uses, within its limits",
    async () => {
      const { driver } = subject();
      const spec = subject().spec();
      const stats = await driver.stats(await boot(subject(), spec));
      expect([stats.memoryLimitBytes, stats.diskLimitBytes]).toEqual([spec.resources.memoryBytes, spec.resources.diskBytes]);
      expect(stats.memoryUsedBytes).toBeGreaterThan(0);
      expect(stats.memoryUsedBytes).toBeLessThanOrEqual(stats.memoryLimitBytes);
      expect(stats.processes).toBeGreaterThan(0);
      expect(stats.cpuUsageUsec).toBeGreaterThan(0);
      expect([stats.oomKills, stats.memoryCacheBytes >= 0, stats.diskUsedBytes >= 0]).toEqual([0, true, true]);
    },
    TIMEOUT_MS,
  );

  test("refuses to give the machine back while sandboxes are left", async () => {
    const { driver } = subject();
    const handle = await driver.create(subject().spec(), never);
    expect(await reasonOf(driver.release())).toBe("sandboxes_left");
    expect((await driver.inspect(handle)).phase).toBe("created");
  });

  test("says what the machine can do, one sentence each", async () => {
    const { checks } = await subject().driver.fingerprint();
    expect(checks.length).toBeGreaterThan(0);
    for (const check of checks) {
      expect([check.name, check.found].every((text) => text.length > 0)).toBe(true);
      if (check.status !== "ok") expect(check.fix).toBeTruthy();
    }
  });
}
