import { randomBytes } from "node:crypto";
import {
  type AgentAccess,
  type AgentClient,
  type FileContent,
  getFile,
  type ProcessEnd,
  type ProcessOutput,
  type ProcessRequest,
  putFile,
  runProcess,
  startProcess,
} from "@boxyard/agent-client";
import { type Clock, newSandboxId, type SandboxId, wrapError } from "@boxyard/core";
import type { ImageRef, SandboxDriver, SandboxHandle } from "@boxyard/driver";
import { newInitKey } from "../../sandboxes/tokens.ts";
import { BUILD_FOLDER, type BuildSettings } from "./build-settings.ts";
import { imageOf } from "./state.ts";

const MIN_MEMORY_MB = 1024;
const MAX_PROCESSES = 4096;
/** Of what a sandbox has changed: with more, the next step begins on a layer of its own, since every commit reads all of it again. */
const LARGE_COMMIT_BYTES = 32 << 20;

export interface WorkspaceDeps {
  readonly driver: SandboxDriver;
  readonly agent: AgentClient;
  readonly clock: Clock;
  readonly settings: BuildSettings;
  /** Sandboxes that nobody but their build looks after. */
  readonly reserved: Set<string>;
}

export interface WorkspaceOptions {
  readonly image: ImageRef;
  readonly buildId: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
}

/** A sandbox in which steps of a build run. It ends with the server: a restarted one removes it, since no store knows it. */
export class Workspace {
  private readonly deps: WorkspaceDeps;
  private readonly base: ImageRef;
  private readonly handle: SandboxHandle;
  private readonly agent: AgentAccess;
  /** True when what it holds is better left for a new one. */
  isFull = false;

  private constructor(deps: WorkspaceDeps, base: ImageRef, handle: SandboxHandle, agent: AgentAccess) {
    this.deps = deps;
    this.base = base;
    this.handle = handle;
    this.agent = agent;
  }

  static async open(deps: WorkspaceDeps, options: WorkspaceOptions, signal: AbortSignal): Promise<Workspace> {
    const { driver, agent, settings, clock, reserved } = deps;
    const sandboxId = newSandboxId();
    const initKey = newInitKey();
    const handle = { driver: driver.name, sandboxId, incarnation: 1 };
    reserved.add(sandboxId);
    try {
      await driver.create(specOf(sandboxId, initKey, options), signal);
      await driver.start(handle, signal);
      const address = await driver.address(handle);
      const accessToken = randomBytes(32).toString("hex");
      const timestamp = new Date(clock.now()).toISOString();
      await agent.init(address, initKey, { accessToken, envVars: {}, defaultUser: "root", defaultWorkdir: "/", timestamp }, signal);
      const workspace = new Workspace(deps, options.image, handle, { address, accessToken });
      for (const [path, text] of Object.entries(settings.files)) await workspace.putFile(path, text, signal);
      return workspace;
    } catch (error) {
      await driver.destroy(handle).catch(() => {});
      reserved.delete(sandboxId);
      throw signal.aborted ? signal.reason : wrapError("starting a sandbox for the build", error);
    }
  }

  /** Runs a command to its end; the build's settings are in its environment. */
  exec(request: ProcessRequest, output: ProcessOutput, signal: AbortSignal): Promise<ProcessEnd> {
    return runProcess(this.agent, this.withSettings(request), output, signal);
  }

  /** Starts a command and lets it go on. */
  start(request: ProcessRequest, output: ProcessOutput, signal: AbortSignal) {
    return startProcess(this.agent, this.withSettings(request), output, signal);
  }

  getFile(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return getFile(this.agent, path, signal);
  }

  putFile(path: string, content: FileContent, signal: AbortSignal): Promise<void> {
    return putFile(this.agent, path, content, signal);
  }

  /** The image that everything done here so far gives. Processes that are left over stand still meanwhile. */
  async commit(signal: AbortSignal): Promise<ImageRef> {
    const { driver, settings } = this.deps;
    await driver.freeze(this.handle);
    try {
      const leaveOut = [BUILD_FOLDER, ...Object.keys(settings.files)];
      const layer = await driver.images.commit(this.handle, { signal, leaveOut });
      this.isFull = layer.sizeBytes > LARGE_COMMIT_BYTES;
      return await withinLimit(driver, [...this.base.layers, layer.digest], signal);
    } finally {
      await driver.thaw(this.handle).catch(() => {});
    }
  }

  /** Ends the sandbox; repeatable. What can't be removed now the sweep removes. */
  async close(): Promise<void> {
    const { driver, reserved } = this.deps;
    try {
      await driver.destroy(this.handle);
    } catch {
      // The sweep finds it, for nobody claims it any more.
    } finally {
      reserved.delete(this.handle.sandboxId);
    }
  }

  private withSettings(request: ProcessRequest): ProcessRequest {
    return { ...request, envs: { ...this.deps.settings.env, ...request.envs } };
  }
}

function specOf(sandboxId: SandboxId, initKey: string, options: WorkspaceOptions) {
  const { image, buildId, cpuCount, memoryMB, diskMB } = options;
  return {
    sandboxId,
    incarnation: 1,
    image,
    hostname: "build",
    resources: {
      cpuCount,
      memoryBytes: Math.max(memoryMB, MIN_MEMORY_MB) * 2 ** 20,
      diskBytes: diskMB * 2 ** 20,
      maxProcesses: MAX_PROCESSES,
    },
    network: { internetAccess: true },
    agent: { initKey },
    labels: { build: buildId },
  };
}

/** Room that stays for layers that a template's children add. */
const SPARE_LAYERS = 8;

/** An image of these layers; where they are more than a sandbox can well stand on, those above the lowest become one. */
export async function withinLimit(driver: SandboxDriver, layers: readonly string[], signal: AbortSignal): Promise<ImageRef> {
  const most = Math.max(2, driver.images.maxLayers - SPARE_LAYERS);
  if (layers.length <= most) return imageOf(layers);
  const [lowest = "", ...above] = layers;
  const merged = await driver.images.mergeLayers(above, { signal });
  return imageOf([lowest, merged.digest]);
}
