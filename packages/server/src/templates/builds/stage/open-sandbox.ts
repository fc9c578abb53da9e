import { putFile } from "@boxyard/agent-client";
import { type TeamId, wrapError } from "@boxyard/core";
import type { ImageRef, SandboxDriver } from "@boxyard/driver";
import { imageOf } from "../../../images/image-of.ts";
import { mostProcesses } from "../../../most-processes.ts";
import type { BuildRecord } from "../../../store/index.ts";
import { DEFAULT_DISK_MB } from "../../templates.ts";
import type { BuildSandboxes, OpenSandbox, WantedSandbox } from "../ports.ts";
import type { BuildSettings } from "./build-settings.ts";

const MIN_MEMORY_MB = 1024;
const MAX_PROCESSES = 4096;
export interface SessionDeps {
  readonly driver: SandboxDriver;
  readonly buildSandboxes: BuildSandboxes;
  readonly settings: BuildSettings;
}

/**
 * Makes a sandbox of `image` for the steps of a build, with the machine's settings in it. A restarted server removes the sandbox, because its build
 * has ended.
 */
export async function openSandbox(deps: SessionDeps, build: BuildRecord, teamId: TeamId, image: ImageRef, signal: AbortSignal) {
  const { buildSandboxes, settings } = deps;
  let sandbox: OpenSandbox | undefined;
  try {
    sandbox = await buildSandboxes.open(wantedOf(build, teamId, image), signal);
    for (const [path, text] of Object.entries(settings.files)) await putFile(sandbox.agent, path, text, signal);
    return sandbox;
  } catch (error) {
    await sandbox?.close();
    throw signal.aborted ? signal.reason : wrapError("starting a sandbox for the build", error);
  }
}

function wantedOf({ id: buildId, templateId, resources: asked }: BuildRecord, teamId: TeamId, image: ImageRef): WantedSandbox {
  const { cpuCount, memoryMB, diskMB } = asked;
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
