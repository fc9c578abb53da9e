import { AppError } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { SandboxSpec } from "../runtime/types.ts";
import type { FakeSandbox, FakeWorld } from "./world.ts";

export const notFound = (handle: SandboxHandle) =>
  new AppError("not_found", `There is no sandbox ${handle.sandboxId} (incarnation ${handle.incarnation})`, { reason: "sandbox_not_found" });

export const absent = (what: string) => new AppError("unimplemented", `The fake driver has no ${what}`, { reason: "unimplemented" });

/** The sandboxes of a world for one driver object. The parts of a fake driver share it. */
export class FakeSandboxes {
  private readonly world: FakeWorld;
  /** Sandboxes that this object made or recovered; others need `recover` first, as with a real driver after a restart. */
  private readonly known = new Set<string>();

  constructor(world: FakeWorld) {
    this.world = world;
  }

  know(sandboxId: string): void {
    this.known.add(sandboxId);
  }

  isKnown({ sandboxId }: SandboxHandle): boolean {
    return this.known.has(sandboxId);
  }

  forget(sandboxId: string): void {
    this.known.delete(sandboxId);
  }

  forgetAll(): void {
    this.known.clear();
  }

  find(handle: SandboxHandle): FakeSandbox {
    const sandbox = this.world.sandboxes.get(handle.sandboxId);
    if (sandbox) this.mustBeReadable(sandbox);
    if (!sandbox || sandbox.handle.incarnation !== handle.incarnation) throw notFound(handle);
    return sandbox;
  }

  /** Throws `data_loss` where the state of the sandbox, or the generation that it is paused with, is damaged. */
  mustBeReadable({ damaged, generationDamaged, phase }: FakeSandbox): void {
    if (damaged) throw new AppError("data_loss", "The state of the sandbox is damaged", { reason: "state_damaged" });
    if (generationDamaged && phase === "paused") throw new AppError("data_loss", "The generation is damaged", { reason: "bad_generation" });
  }

  /** As `find`; throws `not_found` unless the sandbox runs. */
  alive(handle: SandboxHandle): FakeSandbox {
    const sandbox = this.find(handle);
    if (sandbox.phase !== "running") throw notFound(handle);
    return sandbox;
  }
}

export function validate(spec: SandboxSpec): void {
  const { cpuCount, memoryBytes, diskBytes, maxProcesses } = spec.resources;
  const positive = [cpuCount, memoryBytes, diskBytes, maxProcesses].every((n) => Number.isFinite(n) && n > 0);
  const labelBytes = Buffer.byteLength(JSON.stringify(spec.labels));
  if (!positive || labelBytes > 4096 || !(spec.incarnation >= 1)) {
    throw new AppError("invalid_argument", "The sandbox spec is out of bounds", { reason: "invalid_spec" });
  }
}
