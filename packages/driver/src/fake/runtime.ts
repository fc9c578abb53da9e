import { AppError, type SandboxId, unlessAborted } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import { inUse, type RuntimeCapabilities, type RuntimeDriver } from "../runtime/runtime.ts";
import type {
  AgentAddress,
  Capacity,
  ExitStatus,
  Fingerprint,
  KeptSpec,
  Reclaim,
  ResourceLimits,
  ResourceStats,
  RuntimeStatus,
  SandboxSpec,
  Signal,
} from "../runtime/types.ts";
import { absent, type FakeSandboxes, notFound, validate } from "./sandboxes.ts";
import type { FakeSnapshots } from "./snapshots.ts";
import type { FakeVolumes } from "./volumes.ts";
import type { FakeSandbox, FakeWorld } from "./world.ts";

/** Init and agent. */
const PROCESSES = 2;

/** Sandboxes that are small servers on loopback. */
export class FakeRuntime implements RuntimeDriver {
  readonly name = "fake";
  readonly capabilities: RuntimeCapabilities;
  private readonly world: FakeWorld;
  private readonly sandboxes: FakeSandboxes;
  private readonly snapshots: FakeSnapshots;
  private readonly volumes: FakeVolumes;

  constructor(world: FakeWorld, sandboxes: FakeSandboxes, snapshots: FakeSnapshots, volumes: FakeVolumes) {
    this.world = world;
    this.sandboxes = sandboxes;
    this.snapshots = snapshots;
    this.volumes = volumes;
    this.capabilities = {
      freeze: !world.lacks.has("freeze"),
      resize: !world.lacks.has("resize"),
      resizeDisk: true,
      relabel: world.isRemote ? "remote" : "local",
      setsMemoryAside: world.isRemote,
    };
  }

  fingerprint(): Promise<Fingerprint> {
    return this.world.faults.around("fingerprint", undefined, async () => ({
      checks: [{ name: "fake", status: "ok", found: "Nothing is needed" }],
    }));
  }

  capacity(): Promise<Capacity> {
    return this.world.faults.around("capacity", undefined, async () => {
      const running = [...this.world.sandboxes.values()].filter(({ phase, standing }) => phase === "running" || standing).length;
      const { processesFree, ...capacity } = this.world.capacity;
      return { ...capacity, processesFree: Math.max(0, processesFree - running * PROCESSES) };
    });
  }

  reclaim({ memoryBytes }: Reclaim): Promise<boolean> {
    return this.world.faults.around("reclaim", undefined, async () => {
      const { world } = this;
      const givenBack = Math.min(memoryBytes, world.reclaimableBytes);
      world.reclaimableBytes -= givenBack;
      world.capacity = { ...world.capacity, memoryFreeBytes: world.capacity.memoryFreeBytes + givenBack };
      const standing = [...world.sandboxes.values()].filter((sandbox) => sandbox.standing);
      for (const sandbox of standing) sandbox.standing = false;
      return givenBack > 0 || standing.length > 0;
    });
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
      if (spec.image.layers.length > this.world.maxLayers) {
        throw new AppError("invalid_argument", "The image has too many layers", { reason: "too_many_layers" });
      }
      const files = this.snapshots.filesFor(spec);
      this.volumes.check(spec, this.snapshots.volumesFor(spec));
      this.sandboxes.know(spec.sandboxId);
      return this.world.make(structuredClone(spec), this.name, files).handle;
    });
  }

  async start(handle: SandboxHandle, signal: AbortSignal): Promise<void> {
    const sandbox = this.sandboxes.find(handle);
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
      const sandbox = this.sandboxes.find(handle);
      if (sandbox.halfMade) throw notFound(handle);
      this.sandboxes.know(handle.sandboxId);
      return statusOf(sandbox);
    });
  }

  inspect(handle: SandboxHandle): Promise<RuntimeStatus> {
    return this.world.faults.around("inspect", undefined, async () => {
      const sandbox = this.sandboxes.find(handle);
      if (sandbox.halfMade) throw notFound(handle);
      return statusOf(sandbox);
    });
  }

  stats(handle: SandboxHandle): Promise<ResourceStats> {
    return this.world.faults.around("stats", undefined, async () => {
      const { spec, use } = this.sandboxes.alive(handle);
      return {
        ...use,
        memoryLimitBytes: spec.resources.memoryBytes,
        diskLimitBytes: spec.resources.diskBytes,
        processes: PROCESSES,
        oomKills: 0,
      };
    });
  }

  async cpuTimes(handles: readonly SandboxHandle[]): Promise<ReadonlyMap<SandboxId, number>> {
    const times = new Map<SandboxId, number>();
    for (const { sandboxId } of handles) {
      const sandbox = this.world.sandboxes.get(sandboxId);
      if (sandbox?.phase === "running") times.set(sandboxId, sandbox.use.cpuUsageUsec);
    }
    return times;
  }

  address(handle: SandboxHandle): Promise<AgentAddress> {
    return this.world.faults.around("address", undefined, async () => {
      const { agent } = this.sandboxes.alive(handle);
      if (!agent || !this.sandboxes.isKnown(handle)) throw notFound(handle);
      return { host: agent.host, agentPort: agent.port };
    });
  }

  async keptSpec(handle: SandboxHandle): Promise<KeptSpec> {
    const { spec, network, halfMade } = this.sandboxes.find(handle);
    if (halfMade) throw notFound(handle);
    const { agent, hostname: _, ...kept } = spec;
    return { ...kept, network, initKey: agent.initKey };
  }

  signal(handle: SandboxHandle, _signal: Signal): Promise<void> {
    return this.world.faults.around("signal", undefined, async () => {
      this.sandboxes.alive(handle);
      await this.world.stop(handle.sandboxId, { reason: "killed" });
    });
  }

  wait(handle: SandboxHandle, signal: AbortSignal): Promise<ExitStatus> {
    return this.world.faults.around("wait", signal, async () => {
      const sandbox = this.sandboxes.find(handle);
      if (!this.sandboxes.isKnown(handle)) throw notFound(handle);
      if (sandbox.phase === "created") return { reason: "unknown" };
      return unlessAborted(sandbox.ended, signal);
    });
  }

  freeze(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("freeze", undefined, async () => {
      if (!this.capabilities.freeze) throw absent("freezer");
      const known = this.world.sandboxes.get(handle.sandboxId);
      const sandbox = known?.damaged ? known : this.sandboxes.alive(handle);
      sandbox.frozen = true;
      sandbox.agent?.freeze();
    });
  }

  thaw(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("thaw", undefined, async () => {
      if (!this.capabilities.freeze) throw absent("freezer");
      const sandbox = this.sandboxes.alive(handle);
      sandbox.frozen = false;
      sandbox.agent?.thaw();
      sandbox.agent?.thawCommands();
    });
  }

  resize(handle: SandboxHandle, resources: ResourceLimits): Promise<void> {
    return this.world.faults.around("resize", undefined, async () => {
      if (!this.capabilities.resize) throw absent("change of limits");
      const sandbox = this.sandboxes.alive(handle);
      const spec = { ...sandbox.spec, resources };
      validate(spec);
      const { memoryUsedBytes, diskUsedBytes } = sandbox.use;
      if (memoryUsedBytes > resources.memoryBytes) throw inUse("memory", memoryUsedBytes, resources.memoryBytes);
      if (diskUsedBytes > resources.diskBytes) throw inUse("disk", diskUsedBytes, resources.diskBytes);
      sandbox.spec = spec;
    });
  }

  relabel(handle: SandboxHandle, labels: SandboxSpec["labels"]): Promise<void> {
    return this.world.faults.around("relabel", undefined, async () => {
      const sandbox = this.sandboxes.alive(handle);
      const spec = { ...sandbox.spec, labels: { ...labels } };
      validate(spec);
      sandbox.spec = spec;
    });
  }

  destroy(handle: SandboxHandle): Promise<void> {
    return this.world.faults.around("destroy", undefined, async () => {
      const sandbox = this.world.sandboxes.get(handle.sandboxId);
      // The incarnation of an older handle is gone already; a newer one does not belong to this handle.
      if (!sandbox || (sandbox.handle.incarnation !== handle.incarnation && !sandbox.damaged)) return;
      await this.world.remove(handle.sandboxId);
      this.sandboxes.forget(handle.sandboxId);
    });
  }

  list(): Promise<readonly SandboxHandle[]> {
    return this.world.faults.around("list", undefined, async () =>
      [...this.world.sandboxes.values()].map(({ handle, damaged }) => (damaged ? { ...handle, incarnation: 1 } : handle)),
    );
  }

  async close(): Promise<void> {
    this.sandboxes.forgetAll();
  }

  release(): Promise<void> {
    return this.world.faults.around("release", undefined, async () => {
      if (this.world.sandboxes.size > 0) {
        throw new AppError("failed_precondition", "Sandboxes are left; destroy them first", { reason: "sandboxes_left" });
      }
      this.world.released += 1;
    });
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
