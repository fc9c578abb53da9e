import { expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import type { SandboxHandle } from "../../handle.ts";
import { boot, codeOf, health, listed, never, reasonOf, type Subject, TIMEOUT_MS } from "../subject.ts";

/** Tests of `create`. */
export function createTests(subject: Subject): void {
  test("makes a sandbox without processes", async () => {
    const { driver } = subject();
    const spec = { ...subject().spec(), labels: { owner: "tests" } };
    const handle = await driver.create(spec, never);
    expect(handle).toEqual({ driver: driver.name, sandboxId: spec.sandboxId, incarnation: spec.incarnation });
    expect(await driver.inspect(handle)).toEqual({ handle, phase: "created", frozen: false, labels: { owner: "tests" } });
    expect(await listed(driver)).toEqual([spec.sandboxId]);
    expect(await driver.wait(handle, never)).toEqual({ reason: "unknown" });
    expect(await codeOf(driver.signal(handle, "SIGKILL"))).toBe("not_found");
  });

  test("keeps the spec for a server that has lost its store", async () => {
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

  test("refuses an id that exists already", async () => {
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

/** Tests of `start`. */
export function startTests(subject: Subject): void {
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
    "is refused a second time",
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

  test("an unknown sandbox is not_found", async () => {
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
    "older handles are not_found for a later incarnation",
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
        ...(driver.capabilities.freeze ? [driver.freeze(old), driver.thaw(old)] : []),
        driver.start(old, never),
      ];
      expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => "not_found"));
      await driver.destroy(old);
      expect(await health(await driver.address(handle))).toBe(204);
    },
    TIMEOUT_MS,
  );
}
