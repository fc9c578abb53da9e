import type { LayerInfo } from "../images.ts";
import type { ExitStatus, NetworkSpec, RuntimePhase, SandboxHandle, SandboxSpec } from "../types.ts";
import { FakeAgent, type FakeCommands, type InitManner } from "./agent.ts";
import { Faults } from "./faults.ts";

/** One pretended sandbox. */
export interface FakeSandbox {
  handle: SandboxHandle;
  readonly spec: SandboxSpec;
  /** As the spec says, or as `setNetwork` did since. */
  network: NetworkSpec;
  phase: RuntimePhase;
  frozen: boolean;
  /** The incarnation whose memory and disk a pause has kept whole. */
  generation?: number;
  /** A `create` cut off in the middle leaves one of these: it is listed, but nothing else works on it. */
  halfMade: boolean;
  /** What it "has changed": text by path. A test fills it in, `images.commit` makes a layer of it. */
  readonly files: Map<string, string>;
  agent?: FakeAgent;
  exit?: ExitStatus;
  readonly ended: Promise<ExitStatus>;
  end(exit: ExitStatus): void;
}

/**
 * The machine a fake driver pretends to run on. Two drivers over one world stand for one machine before and after a restart of the server.
 */
export class FakeWorld {
  readonly sandboxes = new Map<string, FakeSandbox>();
  readonly faults = new Faults();
  /** Digests of images the world has; empty means that it has every image. */
  readonly images = new Set<string>();
  readonly layers = new Map<string, { readonly info: LayerInfo; readonly tar: Uint8Array<ArrayBuffer> }>();
  /** How the agents answer `/init` from now on. */
  initManner: InitManner = "ok";
  /** What commands inside come to from now on; by default each ends with 0 at once. */
  command: FakeCommands = () => ({});
  released = 0;
  /** Whether drivers of this world have the ability `checkpoint`, as far as the fake has it: `hasGeneration` and `endIncarnation`. */
  keepsGenerations = false;

  make(spec: SandboxSpec, driver: string): FakeSandbox {
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
      halfMade: false,
      files: new Map(),
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

  /** Ends a sandbox from inside or outside, as the reason says; its traces stay until it is destroyed. */
  async stop(sandboxId: string, exit: ExitStatus): Promise<void> {
    const sandbox = this.sandboxes.get(sandboxId);
    if (!sandbox || sandbox.phase === "stopped") return;
    sandbox.phase = "stopped";
    sandbox.frozen = false;
    sandbox.exit = exit;
    await sandbox.agent?.stop();
    sandbox.end(exit);
  }

  /** Ends what runs of a sandbox; it is found under its kept generation again. */
  async endIncarnation(sandboxId: string): Promise<void> {
    const sandbox = this.sandboxes.get(sandboxId);
    if (!sandbox) return;
    await this.stop(sandboxId, { reason: "killed" });
    if (sandbox.generation !== undefined) sandbox.handle = { ...sandbox.handle, incarnation: sandbox.generation };
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
