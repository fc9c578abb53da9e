import {
  type FileContent,
  getFile,
  type ProcessEnd,
  type ProcessOutput,
  type ProcessRequest,
  putFile,
  runProcess,
  startProcess,
} from "@boxyard/agent-client";
import { type TeamId, type TemplateId, wrapError } from "@boxyard/core";
import type { ImageRef, SandboxDriver } from "@boxyard/driver";
import { imageOf } from "../../../images/image-of.ts";
import { mostProcesses } from "../../../most-processes.ts";
import { DEFAULT_DISK_MB } from "../../templates.ts";
import type { BuildSandboxes, OpenSandbox, WantedSandbox } from "../ports.ts";
import { BUILD_DIRECTORY, type BuildSettings } from "./build-settings.ts";

const MIN_MEMORY_MB = 1024;
const MAX_PROCESSES = 4096;
/** With more changes than this, the next step gets a new sandbox on the committed layer, because every commit reads all changes again. */
const LARGE_COMMIT_BYTES = 32 << 20;

export interface WorkspaceDeps {
  readonly driver: SandboxDriver;
  readonly buildSandboxes: BuildSandboxes;
  readonly settings: BuildSettings;
}

export interface WorkspaceOptions {
  readonly image: ImageRef;
  readonly buildId: string;
  readonly teamId: TeamId;
  readonly templateId: TemplateId;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly diskMB: number;
}

/** A sandbox in which steps of a build run. A restarted server removes the sandbox, because its build has ended. */
export class Workspace {
  private readonly deps: WorkspaceDeps;
  private readonly base: ImageRef;
  private readonly sandbox: OpenSandbox;
  /** True when the next step should get a new sandbox (`LARGE_COMMIT_BYTES`). */
  isFull = false;

  private constructor(deps: WorkspaceDeps, base: ImageRef, sandbox: OpenSandbox) {
    this.deps = deps;
    this.base = base;
    this.sandbox = sandbox;
  }

  static async open(deps: WorkspaceDeps, options: WorkspaceOptions, signal: AbortSignal): Promise<Workspace> {
    const { buildSandboxes, settings } = deps;
    let workspace: Workspace | undefined;
    try {
      workspace = new Workspace(deps, options.image, await buildSandboxes.open(wantedOf(options), signal));
      for (const [path, text] of Object.entries(settings.files)) await workspace.putFile(path, text, signal);
      return workspace;
    } catch (error) {
      await workspace?.close();
      throw signal.aborted ? signal.reason : wrapError("starting a sandbox for the build", error);
    }
  }

  /** Runs a command to its end; the build's settings are in its environment. */
  exec(request: ProcessRequest, output: ProcessOutput, signal: AbortSignal): Promise<ProcessEnd> {
    return runProcess(this.sandbox.agent, this.withSettings(request), output, signal);
  }

  /** Starts a command and lets it go on. */
  start(request: ProcessRequest, output: ProcessOutput, signal: AbortSignal) {
    return startProcess(this.sandbox.agent, this.withSettings(request), output, signal);
  }

  getFile(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return getFile(this.sandbox.agent, path, signal);
  }

  putFile(path: string, content: FileContent, signal: AbortSignal): Promise<void> {
    return putFile(this.sandbox.agent, path, content, signal);
  }

  /** Makes a layer of all changes so far, and returns the image with it. Processes that still run are frozen meanwhile. */
  async commit(signal: AbortSignal): Promise<ImageRef> {
    const { driver, settings } = this.deps;
    const layer = await this.sandbox.commit([BUILD_DIRECTORY, ...Object.keys(settings.files)], signal);
    this.isFull = layer.sizeBytes > LARGE_COMMIT_BYTES;
    return withinLimit(driver, [...this.base.layers, layer.digest], signal);
  }

  /** Ends the sandbox; repeatable. */
  close(): Promise<void> {
    return this.sandbox.close();
  }

  private withSettings(request: ProcessRequest): ProcessRequest {
    return { ...request, envs: { ...this.deps.settings.env, ...request.envs } };
  }
}

function wantedOf({ image, buildId, teamId, templateId, cpuCount, memoryMB, diskMB }: WorkspaceOptions): WantedSandbox {
  const memoryBytes = Math.max(memoryMB, MIN_MEMORY_MB) * 2 ** 20;
  const resources = {
    cpuCount,
    memoryBytes,
    // A small disk is for the template's sandboxes: its build may need more.
    diskBytes: Math.max(diskMB, DEFAULT_DISK_MB) * 2 ** 20,
    maxProcesses: mostProcesses(memoryBytes, MAX_PROCESSES),
  };
  return { image, buildId, teamId, templateId, resources };
}

/** Layers that builds on a template can add before layers must be merged. */
const SPARE_LAYERS = 8;

/** Smallest number of layers for a build: the lowest layer, and one for everything that its steps add. */
export const LEAST_MAX_LAYERS = 2;

/** An image of these layers. Where they are more than the driver's maximum less the spare ones, all layers above the lowest are merged. */
export async function withinLimit(driver: SandboxDriver, layers: readonly string[], signal: AbortSignal): Promise<ImageRef> {
  const most = Math.max(LEAST_MAX_LAYERS, driver.capabilities.maxLayers - SPARE_LAYERS);
  if (layers.length <= most) return imageOf(layers);
  const [lowest = "", ...above] = layers;
  const merged = await driver.images.mergeLayers(above, { signal });
  return imageOf([lowest, merged.digest]);
}
