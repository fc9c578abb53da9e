import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { addMountNamespace } from "../rootfs/mounts.ts";
import { bootId } from "../runtime/process.ts";
import type { LocalParts } from "../sandbox/parts.ts";
import type { ChildProgram } from "../sys/fork-server/index.ts";
import { AT_FDCWD, MS, O } from "../sys/libc.ts";

export const CRIU_RUN_DIRECTORY = "/run";
/** Where CRIU caches what it has found out about the kernel. To find it out takes half as long as a small restore. */
const CACHE = `${CRIU_RUN_DIRECTORY}/criu.kdat`;

/** The driver's copy, which only root can write to; valid for one boot and one version of CRIU. */
const pathOf = ({ paths, criu }: LocalParts): string => `${paths.criuFacts}-${criu?.version}-${bootId()}`;

/** Gives CRIU a mount namespace with an empty `/run` of its own, so that it cannot trust files that other programs wrote there. */
export function addRunDirectory(program: ChildProgram): void {
  addMountNamespace(program);
  program.call("mount", ["tmpfs", CRIU_RUN_DIRECTORY, "tmpfs", MS.NOSUID | MS.NODEV, "mode=755"], CRIU_RUN_DIRECTORY);
}

/** Gives CRIU what an earlier run found, in its own `/run` (`addRunDirectory`). A CRIU that does not accept it finds it out again. */
export function addKernelFacts(program: ChildProgram, parts: LocalParts): void {
  const kept = pathOf(parts);
  if (!existsSync(kept)) return;
  const fd = program.call("openat", [AT_FDCWD, CACHE, O.WRONLY | O.CREAT | O.CLOEXEC, 0o600], CACHE);
  program.call("close", [fd]);
  program.call("mount", [kept, CACHE, null, MS.BIND, null], CACHE);
}

/** Keeps what the CRIU that is restoring this init has found out. Does nothing when there is a copy already, or CRIU has written nothing. */
export function keepKernelFacts(parts: LocalParts, init: number): void {
  const kept = pathOf(parts);
  if (existsSync(kept)) return;
  const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${init}/status`, "utf8"))?.[1];
  const found = `/proc/${parent}/root${CACHE}`;
  if (!existsSync(found)) return;
  // Removes copies of earlier boots and other versions.
  const directory = dirname(kept);
  for (const name of readdirSync(directory)) if (name.startsWith(basename(parts.paths.criuFacts))) rmSync(join(directory, name));
  copyFileSync(found, `${kept}.new`);
  renameSync(`${kept}.new`, kept);
}
