import { AppError, type SandboxId } from "@boxyard/core";
import type { Generation, PauseOptions } from "../checkpoint.ts";
import type { SandboxDriver } from "../driver.ts";
import type {
  AgentAddress,
  Capacity,
  DriverCapabilities,
  ExitStatus,
  Fingerprint,
  KeptSpec,
  NetworkSpec,
  ResourceStats,
  RuntimeStatus,
  SandboxHandle,
  SandboxSpec,
  Signal,
} from "../types.ts";
import { FakeImages } from "./images.ts";
import { FakeSnapshots, mayKeep } from "./snapshots.ts";
import { type FakeSandbox, FakeWorld } from "./world.ts";

const notFound = (handle: SandboxHandle) =>
  new AppError("not_found", `There is no sandbox ${handle.sandboxId} (incarnation ${handle.incarnation})`, { reason: "sandbox_not_found" });
const absent = (verb: string) => new AppError("unimplemented", `The fake driver has no ${verb}`, { reason: "unimplemented" });

/** A driver whose sandboxes are small servers on loopback. Faults are scripted through `world.faults`. */
export class FakeDriver implements SandboxDriver {
  readonly name = "fake";
  readonly capabilities: DriverCapabilities;
  readonly images: FakeImages;
  readonly snapshots: FakeSnapshots;
  readonly world: FakeWorld;
  /** Sandboxes that this object made or recovered; others need `recover` first, as with a real driver after a restart. */
  private readonly known = new Set<string>();

  constructor(world: FakeWorld = new FakeWorld()) {
    this.world = world;
    this.capabilities = { freeze: true, checkpoint: world.checkpoint, network: true, loopback: false, images: true, snapshots: true };
    this.images = new FakeImages(world, (handle) => this.find(handle));
    this.snapshots = new FakeSnapshots(world, this.images, (handle) => this.findAlive(handle));
  }

  fingerprint(): Promise<Fingerprint> {
    return this.world.faults.around("fingerprint", undefined, async () => ({
      checks: [{ name: "fake", status: "ok", found: "Nothing is needed" }],
    }));
  }

  capacity(): Promise<Capacity> {
    return this.world.faults.around("capacity", undefined, async () => this.world.capacity);
  }

  create(spec: SandboxSpec, signal: AbortSignal): Promise<SandboxHandle> {
    return this.world.faults.around("create", signal, async () => {
      signal.throwIfAborted();
      validate(spec);
      if (this.world.sandboxes.has(spec.sandboxId)) {
        throw new AppError("already_exists", `Sandbox ${spec.sandboxId} exists already`, { reason: "sandbox_exists" });
      }
      if (this.world.images.size > 0 && !this.world.images.has(spec.image.digest)) {
        throw new AppError("not_found", `Image ${spec.image.digest} is not on this machine`, { reason: "image_not_found" });
      }
      const files = this.snapshots.filesFor(spec);
      this.known.add(spec.sandboxId);
      return this.world.make(structuredClone(spec), this.name, files).handle;
    });
  }

  async start(handle: SandboxHandle, signal: AbortSignal): Promise<void> {
    const sandbox = this.find(handle);
    if (sandbox.halfMade) throw notFound(handle);
    if (sandbox.phase !== "created") {
      throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} was started already`, { reason: "already_started" });
    }
    try {
      await this.world.faults.around("start", signal, async () => {
        signal.throwIfAborted();
        this.world.boot(sandbox);
      });
    } catch (error) {
      await this.world.remove(handle.sandboxId);
      throw error;
    }
  }

  recover(handle: SandboxHandle): Promise<RuntimeStatus> {
    return this.world.faults.around("recover", undefined, async () => {
      const sandbox = this.find(handle);
      if (sandbox.halfMade) throw notFound(handle);
      this.known.add(handle.sandboxId);
      return statusOf(sandbox);
    });
  }

  inspect(handle: SandboxHandle): Promise<RuntimeStatus> {
    return this.world.faults.around("inspect", undefined, async () => {
      const sandbox = this.find(handle);
      if (sandbox.halfMade) throw notFound(handle);
      return statusOf(sandbox);
    });
  }

  stats(handle: SandboxHandle): Promise<ResourceStats> {
    return this.world.faults.around("stats", undefined, async () => {
      const { resources } = this.findAlive(handle).spec;
      return {
        cpuUsageUsec: 1000,
        memoryUsedBytes: 1 << 20,
        memoryCacheBytes: 1 << 10,
        memoryLimitBytes: resources.memoryBytes,
        diskUsedBytes: 4096,
        diskLimitBytes: resources.diskBytes,
        processes: 2,
        oomKills: 0,
      };
    });
  }

  address(handle: SandboxHandle): Promise<AgentAddress> {
    return this.world.faults.around("address", undefined, async () => {
      const { agent } = this.findAlive(handle);
      if (!agent || !this.known.has(handle.sandboxId)) throw notFound(handle);
      return { host: agent.host, agentPort: agent.port };
    });
  }

  async keptSpec(handle: SandboxHandle): Promise<KeptSpec> {
    const { spec, network, halfMade } = this.find(handle);
    if (halfMade) throw notFound(handle);
    const { agent, hostname: _, ...kept } = spec;
    return { ...kept, network, initKey: agent.initKey };
  }

  signal(handle: SandboxHandle, _signal: Signal): Promise<void> {
    return this.world.faults.around("signal", undefined, async () => {
      this.findAlive(handle);
      await this.world.stop(handle.sandboxId, { reason: "killed" });
    });
  }

  wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus> {
    return this.world.faults.around("wait", signal, async () => {
      const sandbox = this.find(handle);
      if (!this.known.has(handle.sandboxId)) throw notFound(handle);
      if (sandbox.phase === "created") return { reason: "unknown" };
      signal.throwIfAborted();
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await Promise.race([sandbox.ended, aborted]);
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    });
  }

  async connectInside(): Promise<number | undefined> {
    throw absent("way to loopback addresses");
  }

  setNetwork(handle: SandboxHandle, network: NetworkSpec): Promise<void> {
    return this.world.faults.around("setNetwork", undefined, async () => {
      this.findAlive(handle).network = network;
    });
  }

  freeze(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("freeze", undefined, async () => {
      const sandbox = this.findAlive(handle);
      sandbox.frozen = true;
      sandbox.agent?.freeze();
    });
  }

  thaw(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("thaw", undefined, async () => {
      const sandbox = this.findAlive(handle);
      sandbox.frozen = false;
      sandbox.agent?.thaw();
    });
  }

  pause(handle: SandboxHandle, { memory }: PauseOptions, signal: AbortSignal): Promise<Generation> {
    return this.world.faults.around("pause", signal, async () => {
      signal.throwIfAborted();
      const sandbox = this.findAlive(handle);
      mayKeep(this.capabilities.checkpoint, memory);
      const facts = this.world.keep(sandbox, memory);
      await this.world.rest(sandbox);
      return facts;
    });
  }

  generation(sandboxId: SandboxId): Promise<Generation | undefined> {
    return this.world.faults.around("generation", undefined, async () => this.world.sandboxes.get(sandboxId)?.generation?.facts);
  }

  async resume(spec: SandboxSpec, _options: PauseOptions, signal: AbortSignal): Promise<SandboxHandle> {
    signal.throwIfAborted();
    validate(spec);
    const sandbox = this.findGeneration(spec.sandboxId);
    if (sandbox.phase !== "paused" || spec.incarnation <= sandbox.handle.incarnation) {
      throw new AppError("failed_precondition", `Sandbox ${spec.sandboxId} is not paused before that incarnation`, {
        reason: "not_paused",
      });
    }
    // A resume that starts the agent fails as a start does.
    return this.world.faults.around("resume", signal, () =>
      this.world.faults.around("start", signal, async () => {
        this.world.wake(sandbox, structuredClone(spec), spec.from && this.snapshots.filesFor(spec));
        this.known.add(spec.sandboxId);
        return sandbox.handle;
      }),
    );
  }

  revert(sandboxId: SandboxId): Promise<Generation> {
    return this.world.faults.around("revert", undefined, async () => {
      const sandbox = this.findGeneration(sandboxId);
      await this.world.rest(sandbox);
      return sandbox.generation.facts;
    });
  }

  dropGeneration(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("dropGeneration", undefined, async () => {
      const sandbox = this.find(handle);
      if (sandbox.phase === "paused") {
        throw new AppError("failed_precondition", `Sandbox ${handle.sandboxId} is paused`, { reason: "sandbox_paused" });
      }
      delete sandbox.generation;
    });
  }

  destroy(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("destroy", undefined, async () => {
      const sandbox = this.world.sandboxes.get(handle.sandboxId);
      // An older incarnation is gone already; the newer one is somebody else's.
      if (!sandbox || sandbox.handle.incarnation !== handle.incarnation) return;
      await this.world.remove(handle.sandboxId);
      this.known.delete(handle.sandboxId);
    });
  }

  list(): Promise<readonly SandboxHandle[]> {
    return this.world.faults.around("list", undefined, async () => [...this.world.sandboxes.values()].map((s) => s.handle));
  }

  async close(): Promise<void> {
    this.known.clear();
  }

  release(): Promise<void> {
    return this.world.faults.around("release", undefined, async () => {
      if (this.world.sandboxes.size > 0) {
        throw new AppError("failed_precondition", "Sandboxes are left; destroy them first", { reason: "sandboxes_left" });
      }
      this.world.released += 1;
    });
  }

  private findGeneration(sandboxId: SandboxId): FakeSandbox & Required<Pick<FakeSandbox, "generation">> {
    const sandbox = this.world.sandboxes.get(sandboxId);
    if (sandbox?.generation) return sandbox as FakeSandbox & Required<Pick<FakeSandbox, "generation">>;
    throw new AppError("not_found", `Sandbox ${sandboxId} is not paused`, { reason: "generation_not_found" });
  }

  private find(handle: SandboxHandle): FakeSandbox {
    const sandbox = this.world.sandboxes.get(handle.sandboxId);
    if (!sandbox || sandbox.handle.incarnation !== handle.incarnation) throw notFound(handle);
    return sandbox;
  }

  private findAlive(handle: SandboxHandle): FakeSandbox {
    const sandbox = this.find(handle);
    if (sandbox.phase !== "running") throw notFound(handle);
    return sandbox;
  }
}

function statusOf(sandbox: FakeSandbox): RuntimeStatus {
  return {
    handle: sandbox.handle,
    phase: sandbox.phase,
    frozen: sandbox.frozen,
    labels: sandbox.spec.labels,
    ...(sandbox.exit ? { exit: sandbox.exit } : {}),
  };
}

function validate(spec: SandboxSpec): void {
  const { cpuCount, memoryBytes, diskBytes, maxProcesses } = spec.resources;
  const positive = [cpuCount, memoryBytes, diskBytes, maxProcesses].every((n) => Number.isFinite(n) && n > 0);
  const labelBytes = Buffer.byteLength(JSON.stringify(spec.labels));
  if (!positive || labelBytes > 4096 || !(spec.incarnation >= 1)) {
    throw new AppError("invalid_argument", "The sandbox spec is out of bounds", { reason: "invalid_spec" });
  }
}
