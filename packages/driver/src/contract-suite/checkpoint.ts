import { expect, test } from "bun:test";
import type { SandboxHandle } from "../handle.ts";
import type { SandboxSpec } from "../runtime/types.ts";
import { boot, codeOf, failure, health, never, reasonOf, type Subject, TIMEOUT_MS } from "./subject.ts";

/** Proves the guarantees of `CheckpointDriver`: with memory where the driver can keep it, and with the disk alone. */
export function checkpointTests(subject: Subject): void {
  for (const memory of [true, false]) {
    const kept = new Kept(subject, memory);
    lifeTests(subject, kept);
    failureTests(subject, kept);
  }

  test("an unknown sandbox is not_found", async () => {
    const { driver, spec } = subject();
    const { sandboxId } = spec();
    expect(await driver.generation(sandboxId)).toBeUndefined();
    expect(await reasonOf(driver.revert(sandboxId))).toBe("generation_not_found");
    expect(await reasonOf(driver.resume({ ...spec(), incarnation: 2 }, { memory: false }, never))).toBe("generation_not_found");
    expect(await codeOf(driver.pause({ driver: driver.name, sandboxId, incarnation: 1 }, { memory: false }, never))).toBe("not_found");
  });
}

/** Common parts of the tests for one kind of pause. */
class Kept {
  readonly memory: boolean;
  private readonly subject: Subject;

  constructor(subject: Subject, memory: boolean) {
    this.subject = subject;
    this.memory = memory;
  }

  /** A test where the driver has the capability; else a test that it refuses. */
  promise(text: string, work: () => Promise<void>): void {
    const title = `${this.memory ? "with memory" : "disk only"}: ${text}`;
    test(title, async () => (this.can() ? work() : sayNo(this.subject, this.memory)), TIMEOUT_MS);
  }

  async pause(): Promise<{ spec: SandboxSpec; handle: SandboxHandle }> {
    const { driver, spec: newSpec } = this.subject();
    const spec = { ...newSpec(), labels: { team: "t" } };
    const handle = await boot(this.subject(), spec);
    await driver.pause(handle, { memory: this.memory }, never);
    return { spec, handle };
  }

  private can(): boolean {
    const { checkpoint } = this.subject().driver.capabilities;
    return this.memory ? checkpoint === "memory" : checkpoint !== "none";
  }
}

function lifeTests(subject: Subject, kept: Kept): void {
  const { memory } = kept;

  kept.promise("a pause ends all processes and keeps one whole generation", async () => {
    const { driver } = subject();
    const { spec, handle } = await kept.pause();
    const { createdAt, memoryBytes, ...generation } = (await driver.generation(spec.sandboxId)) ?? { createdAt: 0, memoryBytes: -1 };
    expect(generation).toEqual({ sandboxId: spec.sandboxId, incarnation: 1, memory });
    expect(memoryBytes).toBeGreaterThanOrEqual(0);
    if (!memory) expect(memoryBytes).toBe(0);
    expect(createdAt).toBeGreaterThan(0);
    expect(await driver.inspect(handle)).toEqual({ handle, phase: "paused", frozen: false, labels: { team: "t" } });
    expect((await driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([spec.sandboxId]);
    expect(await codeOf(driver.pause(handle, { memory }, never))).toBe("not_found");
    expect(await codeOf(driver.start(handle, never))).toBe("failed_precondition");
    expect(await codeOf(driver.create(spec, never))).toBe("already_exists");
    expect(await codeOf(driver.signal(handle, "SIGKILL"))).toBe("not_found");
    expect(await codeOf(driver.dropGeneration(handle))).toBe("failed_precondition");
  });

  kept.promise("a resume is a new incarnation with a new address, and the generation stays until it is dropped", async () => {
    const { driver } = subject();
    const { spec, handle } = await kept.pause();
    const resumed = await driver.resume({ ...spec, incarnation: 2, labels: { team: "u" } }, { memory }, never);
    expect(resumed).toEqual({ ...handle, incarnation: 2 });
    expect(await health(await driver.address(resumed))).toBe(204);
    expect(await driver.inspect(resumed)).toEqual({ handle: resumed, phase: "running", frozen: false, labels: { team: "u" } });
    expect(await codeOf(driver.inspect(handle))).toBe("not_found");
    expect((await driver.generation(spec.sandboxId))?.incarnation).toBe(1);
    await driver.dropGeneration(resumed);
    await driver.dropGeneration(resumed);
    expect(await driver.generation(spec.sandboxId)).toBeUndefined();
    expect(await reasonOf(driver.revert(spec.sandboxId))).toBe("generation_not_found");
    expect(await health(await driver.address(resumed))).toBe(204);
  });
}

function failureTests(subject: Subject, kept: Kept): void {
  const { memory } = kept;

  kept.promise("a resume can be reverted, and tried again", async () => {
    const { driver } = subject();
    const { spec, handle } = await kept.pause();
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory }, never);
    const address = await driver.address(resumed);
    for (let i = 0; i < 2; i++) expect((await driver.revert(spec.sandboxId)).incarnation).toBe(1);
    expect(await health(address, 300)).toBeUndefined();
    expect((await driver.inspect(handle)).phase).toBe("paused");
    const again = await driver.resume({ ...spec, incarnation: 3 }, { memory }, never);
    expect(await health(await driver.address(again))).toBe(204);
  });

  kept.promise("a resume with an earlier incarnation, or of a running sandbox, is refused", async () => {
    const { driver } = subject();
    const { spec } = await kept.pause();
    expect(await codeOf(driver.resume(spec, { memory }, never))).toBe("failed_precondition");
    await driver.resume({ ...spec, incarnation: 2 }, { memory }, never);
    expect(await codeOf(driver.resume({ ...spec, incarnation: 3 }, { memory }, never))).toBe("failed_precondition");
  });

  kept.promise("a resume that fails, or is aborted, leaves the sandbox paused as it was", async () => {
    const { driver } = subject();
    const { spec, handle } = await kept.pause();
    const reason = new Error("changed my mind");
    expect(await driver.resume({ ...spec, incarnation: 2 }, { memory }, AbortSignal.abort(reason)).catch((e: unknown) => e)).toBe(reason);
    subject().breakStarts();
    const abort = new AbortController();
    const resume = driver.resume({ ...spec, incarnation: 2 }, { memory }, abort.signal).catch((e: unknown) => e);
    setTimeout(() => abort.abort(reason), 1_000);
    expect(await resume).toBe(reason);
    await subject().mend();
    expect((await driver.inspect(handle)).phase).toBe("paused");
    const resumed = await driver.resume({ ...spec, incarnation: 3 }, { memory }, never);
    expect(await health(await driver.address(resumed))).toBe(204);
  });

  kept.promise("a sandbox whose generation is damaged is listed, changed by no call, resumed after a repair, and destroyed", async () => {
    const { spec, handle } = await kept.pause();
    const other = await boot(subject());
    await subject().damage({ generation: handle });
    await subject().reopen();
    const { driver } = subject();
    expect((await driver.list()).map(({ sandboxId }) => sandboxId).sort()).toEqual([spec.sandboxId, other.sandboxId].sort());
    const resume = () => driver.resume({ ...spec, incarnation: 2 }, { memory }, never);
    for (const call of [
      () => driver.generation(spec.sandboxId),
      () => driver.inspect(handle),
      () => driver.recover(handle),
      () => driver.start(handle, never),
      () => driver.signal(handle, "SIGKILL"),
      () => driver.dropGeneration(handle),
      () => driver.revert(spec.sandboxId),
      resume,
    ]) {
      expect([String(call), await failure(call())]).toEqual([String(call), "data_loss bad_generation"]);
    }
    expect((await driver.recover(other)).phase).toBe("running");
    await subject().mend();
    expect((await driver.recover(handle)).phase).toBe("paused");
    const resumed = await resume();
    expect(await health(await driver.address(resumed))).toBe(204);
    await driver.dropGeneration(resumed);
    await driver.pause(resumed, { memory }, never);
    await subject().damage({ generation: resumed });
    await driver.destroy(resumed);
    expect(await driver.generation(spec.sandboxId)).toBeUndefined();
    expect((await driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([other.sandboxId]);
  });

  kept.promise("a new driver finds it paused, resumes it and destroys it", async () => {
    const { spec, handle } = await kept.pause();
    await subject().reopen();
    const { driver } = subject();
    expect((await driver.recover(handle)).phase).toBe("paused");
    const resumed = await driver.resume({ ...spec, incarnation: 2 }, { memory }, never);
    await driver.dropGeneration(resumed);
    await driver.pause(resumed, { memory }, never);
    await driver.destroy(resumed);
    expect(await driver.generation(spec.sandboxId)).toBeUndefined();
    expect(await driver.list()).toEqual([]);
  });
}

/** Expects that a pause is refused and the sandbox runs on. */
async function sayNo(subject: Subject, memory: boolean): Promise<void> {
  const { driver } = subject();
  const handle = await boot(subject());
  const reason = driver.capabilities.checkpoint === "none" ? "no_checkpoint" : "no_memory_checkpoint";
  expect(await reasonOf(driver.pause(handle, { memory }, never))).toBe(reason);
  expect(await driver.generation(handle.sandboxId)).toBeUndefined();
  expect(await health(await driver.address(handle))).toBe(204);
}
