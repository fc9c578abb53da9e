import { chmodSync, closeSync, existsSync, openSync, readSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { AppError, type SandboxId } from "@boxyard/core";
import { tryLockFile } from "@boxyard/core/file-lock";
import { type LazyProcess, lazyProcessesIn } from "../criu/lazy-pages.ts";
import { bindReadOnly } from "../rootfs/mounts.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { forkServerFile } from "../setup/fork-server.ts";
import { ChildProgram } from "../sys/fork-server/index.ts";
import { numberInside } from "./set-locks.ts";

/*
 * Large pieces of memory are not read before a restored sandbox runs: CRIU gets images without them, and `lazy-memory`, a mode of the fork server's program
 * (native/fork-server/lazy-memory.c), brings them while the processes run, those first that a process touches. A pause waits until all is there.
 */

/** Set-up does not look for it: kernels have the device since 6.1. Elsewhere CRIU restores everything. */
const DEVICE = "/dev/userfaultfd";
const canBeLazy = process.arch === "x64";
const PLAN = "lazy-plan";
/** The guard makes this file before it ends a sandbox. */
const LOST = "lazy-lost";
/** For stopping the processes; nothing is copied in this time. */
const START_MS = 20_000;
/** For the end of what brought the memory of the incarnation before. */
const PREVIOUS_MS = 1_000;
const POLL_MS = 2;
/** Exit code of `lazy-memory` where the machine cannot do it. */
const IMPOSSIBLE = 3;

/** What one restore leaves out. */
export interface LazyRestore {
  readonly processes: readonly LazyProcess[];
  readonly images: string;
  readonly work: string;
  /** Images of this restore alone, by the names of those that they replace. */
  readonly replaced: ReadonlyMap<string, string>;
}

/** Writes the images that CRIU gets in place of the complete ones to `work`. Undefined when CRIU is to restore everything. */
export function beginLazy(parts: LocalParts, images: string, work: string): LazyRestore | undefined {
  const { isOff, failed } = parts.lazyMemory;
  if (!canBeLazy || isOff || failed.has(images) || !existsSync(DEVICE)) return undefined;
  const processes = lazyProcessesIn(images);
  if (processes.length === 0) return undefined;
  const lazy = { processes, images, work, replaced: new Map<string, string>() };
  try {
    for (const process of processes) addImages(lazy, process);
    return lazy;
  } catch (error) {
    removeLazyImages(lazy);
    if (error instanceof AppError) throw error;
    // For example a full disk, on which CRIU needs no room.
    return undefined;
  }
}

function addImages({ images, work, replaced }: LazyRestore & { readonly replaced: Map<string, string> }, process: LazyProcess): void {
  const [map, pages] = [`pagemap-${process.pid}.img`, `pages-${process.pagesId}.img`];
  for (const name of [map, pages]) replaced.set(name, join(work, `lazy-${name}`));
  requireWhole(join(images, pages), process);
  writeFileSync(join(work, `lazy-${map}`), process.pagemap);
  copyRanges(join(images, pages), process.kept, join(work, `lazy-${pages}`));
  // The root of the sandbox reads them, as all images.
  for (const name of [map, pages]) chmodSync(join(work, `lazy-${name}`), 0o644);
}

/** CRIU would find it out before any process runs. */
function requireWhole(path: string, { missing }: LazyProcess): void {
  const needed = Math.max(...missing.map(({ offset, length }) => offset + length));
  if (statSync(path).size < needed) throw cutOff();
}

const cutOff = () => new AppError("data_loss", "An image of the sandbox's memory is cut off", { reason: "bad_snapshot" });

function copyRanges(from: string, ranges: LazyProcess["kept"], to: string): void {
  const [source, target] = [openSync(from, "r"), openSync(to, "w")];
  try {
    for (const { offset, length } of ranges) {
      const bytes = Buffer.alloc(length);
      for (let at = 0; at < length; ) {
        const got = readSync(source, bytes, at, length - at, offset + at);
        if (got === 0) throw cutOff();
        at += got;
      }
      for (let at = 0; at < length; ) at += writeSync(target, bytes, at);
    }
  } finally {
    for (const fd of [source, target]) closeSync(fd);
  }
}

/** Mounts the images over those at `target`. */
export function addLazyImages(program: ChildProgram, { replaced }: LazyRestore, target: string): void {
  for (const [name, path] of replaced) bindReadOnly(program, path, join(target, name));
}

/** Removes the images; to be called when CRIU has ended. */
export function removeLazyImages({ replaced }: LazyRestore): void {
  for (const path of replaced.values()) rmSync(path, { force: true });
}

/** To be called while the restored processes wait for CRIU. From then on they may run. Reason of an error: `lazy_failed`; later restores of this image are then not lazy. */
export async function bringLater(parts: LocalParts, id: SandboxId, lazy: LazyRestore): Promise<void> {
  const cgroup = cgroupOf(parts, id);
  const pids = new Map(cgroup.processes().map((pid) => [numberInside(pid), pid]));
  const [plan, lost] = [join(lazy.work, PLAN), join(lazy.work, LOST)];
  // What brought the memory of an incarnation that has just ended is told so by the kernel, and ends.
  await allBrought(parts, id, PREVIOUS_MS).catch((error) => fail(parts, lazy, error.message));
  writeFileSync(plan, planOf(lazy, pids, { killFile: join(cgroup.top, "cgroup.kill"), lost }), { mode: 0o600 });
  const program = new ChildProgram();
  program.call("setsid", []);
  program.execute(forkServerFile(parts.paths.root), ["lazy-memory", plan], {});
  const code = await parts.forkServer.run(program, { limitMs: START_MS }).catch((error) => fail(parts, lazy, error.message));
  if (code === 0) return;
  parts.lazyMemory.isOff ||= code === IMPOSSIBLE;
  fail(parts, lazy, `exit code ${code}`);
}

function fail(parts: LocalParts, { images }: LazyRestore, why: string): never {
  parts.lazyMemory.failed.add(images);
  throw new AppError("internal", `The sandbox's memory could not be brought while it runs (${why})`, { reason: LAZY_FAILED });
}

/** Reason of the error of a restore that succeeds when it is not lazy. */
export const LAZY_FAILED = "lazy_failed";

function planOf(
  { processes, images }: LazyRestore,
  pids: ReadonlyMap<number, number>,
  ends: { readonly killFile: string; readonly lost: string },
): string {
  const lines = ["lazy 1", `lost ${ends.lost}`, `kill ${ends.killFile}`];
  for (const { pid, pagesId, mappings, missing } of processes) {
    lines.push(`process ${pids.get(pid) ?? 0} ${join(images, `pages-${pagesId}.img`)}`);
    for (const { start, length } of mappings) lines.push(`watched ${start} ${length}`);
    for (const { start, length, offset } of missing) lines.push(`missing ${start} ${length} ${offset}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Whether the sandbox has ended because not all of its memory could be brought. */
export const isMemoryLost = ({ paths }: Pick<LocalParts, "paths">, id: SandboxId): boolean => existsSync(join(paths.sandbox(id), LOST));

/** To be called when the sandbox starts again. */
export const forgetLost = ({ paths }: Pick<LocalParts, "paths">, id: SandboxId): void =>
  rmSync(join(paths.sandbox(id), LOST), { force: true });

/** Resolves when all memory of the sandbox is there. An image that is made before would have holes. `unavailable` after `limitMs`. */
export async function allBrought({ paths, clock }: Pick<LocalParts, "paths" | "clock">, id: SandboxId, limitMs: number): Promise<void> {
  const plan = join(paths.sandbox(id), PLAN);
  const deadline = clock.monotonic() + limitMs;
  for (;;) {
    if (!existsSync(plan)) return;
    const lock = tryLockFile(plan);
    if (lock) {
      lock.release();
      return;
    }
    if (clock.monotonic() > deadline) {
      throw new AppError("unavailable", "The sandbox's memory is not yet complete after its last resume; try again", {
        reason: "memory_missing",
      });
    }
    await clock.sleep(POLL_MS);
  }
}
