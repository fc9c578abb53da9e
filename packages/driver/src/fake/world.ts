import type { CheckpointAbility, Generation } from "../checkpoint/generation.ts";
import type { SandboxHandle } from "../handle.ts";
import type { NetworkAttempt } from "../network/attempts.ts";
import type { EgressPolicy } from "../network/egress-policy.ts";
import type { Capacity, ExitStatus, RuntimePhase, SandboxSpec } from "../runtime/types.ts";
import type { LayerInfo } from "../storage/layers.ts";
import type { SnapshotInfo } from "../storage/snapshots.ts";
import { FakeAgent, type FakeCommands, type InitManner } from "./agent.ts";
import { Faults } from "./faults.ts";
import type { FakeVolumeFiles } from "./volume-files.ts";

/** What a fake sandbox uses. */
export interface FakeUse {
  cpuUsageUsec: number;
  memoryUsedBytes: number;
  memoryCacheBytes: number;
  diskUsedBytes: number;
  networkReceivedBytes: number;
  networkSentBytes: number;
}

/** One fake sandbox. */
export interface FakeSandbox {
  handle: SandboxHandle;
  spec: SandboxSpec;
  /** The policy of the spec, or of the last `setNetwork`. */
  network: EgressPolicy;
  phase: RuntimePhase;
  frozen: boolean;
  /** True: the driver's state of it cannot be read. */
  damaged: boolean;
  /** True: what is kept of its generation cannot be read. */
  generationDamaged: boolean;
  /** True: the sandbox is paused, and its processes are still in memory. */
  standing: boolean;
  /** True after a `create` that was stopped in the middle: the sandbox is listed and can be destroyed, nothing else. */
  halfMade: boolean;
  /** What `stats` answers; tests change it. */
  readonly use: FakeUse;
  /** Its changed files: text by path. Tests fill it; `images.commit` makes a layer of it. */
  readonly files: Map<string, string>;
  /** Its generation, with the handle and files of that time. */
  generation?: { readonly facts: Generation; readonly handle: SandboxHandle; readonly files: ReadonlyMap<string, string> };
  agent?: FakeAgent;
  exit?: ExitStatus;
  ended: Promise<ExitStatus>;
  end(exit: ExitStatus): void;
}

interface FakeSnapshot {
  readonly info: SnapshotInfo;
  readonly files: ReadonlyMap<string, string>;
  /** True: what is kept of it cannot be read. */
  damaged?: boolean;
}

export interface FakeVolume {
  readonly id: string;
  limitBytes: number;
  readonly createdAt: number;
  readonly files: FakeVolumeFiles;
  /** True: what is kept of it cannot be read. */
  damaged?: boolean;
}

/** A capability that a fake driver has unless its world says otherwise. */
export type Lackable = "freeze" | "resize" | "network" | "images" | "snapshots" | "volumes" | "localFiles";

/**
 * The machine of a fake driver. Two drivers over one world are one machine before and after a restart of the server.
 */
export class FakeWorld {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly faults = new Faults();
  /** What sandboxes have tried to reach; tests fill it, and `takeAttempts` takes it. */
  readonly attempts: NetworkAttempt[] = [];
  /** Recordings that lack something, for `takeAttempts`. */
  readonly stoppedRecordings = new Map<string, string>();
  /** Capability `checkpoint` of drivers that are made after it was set. */
  checkpoint: CheckpointAbility = "memory";
  /** Capabilities that drivers lack which are made after they were added. */
  readonly lacks = new Set<Lackable>();
  /** True: as a driver whose sandboxes run on other machines. To be set before a driver is made. */
  isRemote = false;
  /** Capability `maxLayers` of drivers that are created later. */
  maxLayers = 20;
  /** Pauses with memory leave the processes in memory, until a resume or `reclaim`. */
  keepsProcesses = false;
  /** Digests of images the world has; empty means that it has every image. */
  readonly images = new Set<string>();
  readonly snapshots = new Map<string, FakeSnapshot>();
  readonly volumes = new Map<string, FakeVolume>();
  readonly layers = new Map<string, { readonly info: LayerInfo; readonly tar: Uint8Array<ArrayBuffer> }>();
  /** How the agents answer `/init` from now on. */
  initManner: InitManner = "ok";
  /** Gives the results of later commands; by default each ends with 0 at once. */
  command: FakeCommands = () => ({});
  released = 0;
  /** Memory that `reclaim` can release; it becomes free in `capacity`. */
  reclaimableBytes = 0;
  /** `memoryBytes` of generations with memory. */
  keptMemoryBytes = 1 << 20;
  /** What `capacity` answers. */
  capacity: { -readonly [K in keyof Capacity]: Capacity[K] } = {
    memoryLimitBytes: 2 ** 40,
    memoryFreeBytes: 2 ** 40,
    processLimit: 2 ** 22,
    processesFree: 2 ** 22,
    diskLimitBytes: 2 ** 50,
    diskFreeBytes: 2 ** 50,
  };

  make(spec: SandboxSpec, driver: string, files: ReadonlyMap<string, string> = new Map()): FakeSandbox {
    let end: (exit: ExitStatus) => void = () => {};
    const ended = new Promise<ExitStatus>((resolve) => {
      end = resolve;
    });
    const sandbox: FakeSandbox = {
      handle: { driver, sandboxId: spec.sandboxId, incarnation: spec.incarnation },
      spec,
      network: spec.network,
      phase: "created",
      frozen: false,
      damaged: false,
      generationDamaged: false,
      standing: false,
      halfMade: false,
      use: {
        cpuUsageUsec: 1000,
        memoryUsedBytes: 1 << 20,
        memoryCacheBytes: 1 << 10,
        diskUsedBytes: 4096,
        networkReceivedBytes: 0,
        networkSentBytes: 0,
      },
      files: new Map(files),
      ended,
      end,
    };
    this.sandboxes.set(spec.sandboxId, sandbox);
    return sandbox;
  }

  boot(sandbox: FakeSandbox): void {
    sandbox.agent = new FakeAgent({
      initKey: sandbox.spec.agent.initKey,
      manner: () => this.initManner,
      command: (command) => this.command(command),
    });
    sandbox.phase = "running";
  }

  /** Ends a sandbox with this status; it stays listed until it is destroyed. */
  async stop(sandboxId: string, exit: ExitStatus): Promise<void> {
    const sandbox = this.sandboxes.get(sandboxId);
    if (!sandbox || sandbox.phase === "stopped") return;
    sandbox.phase = "stopped";
    sandbox.frozen = false;
    sandbox.exit = exit;
    await sandbox.agent?.stop();
    sandbox.end(exit);
  }

  /** Makes a generation of the sandbox, which runs on. */
  keep(sandbox: FakeSandbox, memory = true): Generation {
    const { handle } = sandbox;
    const { sandboxId, incarnation } = handle;
    const facts = { sandboxId, incarnation, memory, memoryBytes: memory ? this.keptMemoryBytes : 0, createdAt: Date.now() };
    sandbox.generation = { facts, handle, files: new Map(sandbox.files) };
    return facts;
  }

  /** Ends the agent and sets the sandbox back to its generation. */
  async rest(sandbox: FakeSandbox): Promise<void> {
    const { generation } = sandbox;
    if (!generation) throw new Error("no generation");
    await sandbox.agent?.stop();
    sandbox.end({ reason: "killed" });
    delete sandbox.agent;
    delete sandbox.exit;
    Object.assign(sandbox, { phase: "paused", frozen: false, standing: false, handle: generation.handle });
    sandbox.files.clear();
    for (const [path, text] of generation.files) sandbox.files.set(path, text);
  }

  /** Starts a paused sandbox with this spec, and with `files` in place of its own if given. */
  wake(sandbox: FakeSandbox, spec: SandboxSpec, files?: ReadonlyMap<string, string>): void {
    if (files) {
      sandbox.files.clear();
      for (const [path, text] of files) sandbox.files.set(path, text);
    }
    const { promise, resolve } = Promise.withResolvers<ExitStatus>();
    Object.assign(sandbox, { spec, network: spec.network, standing: false, ended: promise, end: resolve });
    sandbox.handle = { ...sandbox.handle, incarnation: spec.incarnation };
    this.boot(sandbox);
  }

  async remove(sandboxId: string): Promise<void> {
    await this.stop(sandboxId, { reason: "killed" });
    this.sandboxes.delete(sandboxId);
  }

  /** Ends everything; for the end of a test. */
  async clear(): Promise<void> {
    this.faults.clear();
    for (const id of [...this.sandboxes.keys()]) await this.remove(id);
  }
}
