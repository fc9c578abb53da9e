import { chownSync, writeFileSync } from "node:fs";
import { AppError, type Cleanup } from "@boxyard/core";
import type { ExternalMount, GenerationFile } from "../checkpoint-store/generation.ts";
import { newBootId, writeBootId } from "../figures/boot-id.ts";
import { BOOT_ID_PATH, type Figure, figureAt } from "../figures/files.ts";
import { identify } from "../runtime/process.ts";
import type { CreateContext } from "../sandbox/parts.ts";
import { type LocalSandboxRecord, writeRecord } from "../state/record.ts";
import { confine } from "../steps/limits.ts";
import { network } from "../steps/network.ts";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { AT_FDCWD, CLONE, O } from "../sys/libc.ts";
import { VolumeFiles } from "../user-volumes/volume-files.ts";
import { changeNames, type OwnNames } from "./hosts.ts";
import { restoreMemory } from "./restore.ts";
import { requireFree } from "./volume-locks.ts";

/** An image of processes, and what is known of the sandbox that it was made of. */
export interface MemorySource extends Pick<GenerationFile, "mounts" | "guest" | "frozenGroups" | "volumeLocks"> {
  /** Directory of CRIU's images. */
  readonly images: string;
  readonly names: OwnNames;
  /** First id of the range in the images, when they were made of another sandbox. */
  readonly uidBaseOfImages?: number;
  /** True: all processes are ended again before the first of them runs, and `TrialPassed` is thrown. */
  readonly isTrial?: boolean;
}

/** Every process of a trial was restored. */
export class TrialPassed extends Error {}

export type RestoreContext = Pick<CreateContext, "parts" | "record" | "volume" | "cgroup">;

/**
 * Restores the processes from the image. Before the first of them runs, the sandbox is confined as after a create, and its commands are frozen: they go
 * on after `/init`, which gives the agent its new token and settings.
 */
export async function restoreProcesses(ctx: RestoreContext, source: MemorySource, undo: Cleanup, signal: AbortSignal): Promise<void> {
  const { parts, volume, cgroup } = ctx;
  const record = { ...ctx.record, bootId: ctx.record.bootId ?? newBootId() };
  writeBootId(parts.paths.hostFacts(record.sandboxId), record.bootId);
  // Images of earlier versions have no mount of it.
  const hasBootId = source.mounts.some(({ target }) => target === BOOT_ID_PATH);
  const volumes = new VolumeFiles(parts.storage.userVolumesRoot);
  requireFree(source.volumeLocks ?? [], (id) => volumes.diskOf(id));
  parts.figures?.make(record.sandboxId, record.resources, figuresIn(source.mounts));
  const isOther = source.uidBaseOfImages !== undefined;
  const withInit = (init: number) => ({ ...ctx, record: withProcess(record, init) });
  const pid = await restoreMemory(parts, record, {
    ...{ ...source, volume, work: parts.paths.sandbox(record.sandboxId), layers: record.layers ?? [] },
    addressOfImages: source.names.address,
    plugIn: (init) => network.run(withInit(init), undo, signal),
    beforeRun: async (init) => {
      cgroup.setFrozenBelow(["user", "pty", ...source.frozenGroups], true);
      if (isOther) cgroup.giveGroupsTo(record.uidBase);
      if (isOther) writeInitKey(parts, record);
      await confine(parts, withProcess(record, init), { mountBootId: !hasBootId });
      if (isOther && record.hostname !== undefined) await setHostname(parts.forkServer, init, record.hostname);
      changeNames(`/proc/${init}/root`, source.names, { address: record.lease.address, hostname: record.hostname });
      if (source.isTrial) throw new TrialPassed();
    },
  });
  const { startsFrom: _, ...kept } = withProcess(record, pid);
  ctx.record = kept;
  await writeRecord(parts.paths.state(record.sandboxId), kept);
}

/** Writes this sandbox's key for the agent, which knows the key of the sandbox that the image was made of. Inside, only root reads the file; none can write it. */
function writeInitKey({ paths }: RestoreContext["parts"], { sandboxId, uidBase, initKey }: LocalSandboxRecord): void {
  if (initKey === undefined) return;
  const path = paths.initKey(sandboxId);
  writeFileSync(path, initKey, { mode: 0o400 });
  chownSync(path, uidBase, uidBase);
}

/** Files that the image has mounts of must exist, whatever the sandbox's own limits are. */
const figuresIn = (mounts: readonly ExternalMount[]): Figure[] => mounts.flatMap(({ target }) => figureAt(target) ?? []);

function withProcess(record: LocalSandboxRecord, pid: number): LocalSandboxRecord {
  const process = identify(pid);
  if (!process) throw new AppError("internal", "The sandbox's init ended while it was restored", { reason: "init_ended" });
  return { ...record, process };
}

/** Sets the host name of the sandbox whose init is `pid`: an image of memory holds the name of the sandbox that it was made of. */
async function setHostname(forkServer: ForkServer, pid: number, hostname: string): Promise<void> {
  const program = new ChildProgram();
  const path = `/proc/${pid}/ns/uts`;
  const namespace = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
  program.call("setns", [namespace, CLONE.NEWUTS], "uts namespace");
  program.call("sethostname", [hostname, Buffer.byteLength(hostname)], hostname);
  await forkServer.run(program);
}
