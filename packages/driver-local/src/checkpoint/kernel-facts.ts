import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { addMountNamespace } from "../rootfs/mounts.ts";
import { bootId } from "../runtime/process.ts";
import type { LocalParts } from "../sandbox.ts";
import type { ChildProgram } from "../sys/fork-server/index.ts";
import { AT_FDCWD, MS, O } from "../sys/libc.ts";

export const CRIU_RUN_DIRECTORY = "/run";
/** Where CRIU keeps what it has found out about the kernel, which takes it as long as half of a small restore. */
const CACHE = `${CRIU_RUN_DIRECTORY}/criu.kdat`;

/** Ours, which nobody else writes to; good for one boot and one CRIU. */
const pathOf = ({ paths, criu }: LocalParts): string => `${paths.criuFacts}-${criu?.version}-${bootId()}`;

/** A mount namespace for CRIU with an empty `/run` of its own: it trusts nothing there that others wrote. */
export function addRunDirectory(program: ChildProgram): void {
  addMountNamespace(program);
  program.call("mount", ["tmpfs", CRIU_RUN_DIRECTORY, "tmpfs", MS.NOSUID | MS.NODEV, "mode=755"], CRIU_RUN_DIRECTORY);
}

/** Gives a CRIU that begins now what an earlier one found. `/run` is its own file system. One that does not trust it looks again. */
export function addKernelFacts(program: ChildProgram, parts: LocalParts): void {
  const kept = pathOf(parts);
  if (!existsSync(kept)) return;
  const fd = program.call("openat", [AT_FDCWD, CACHE, O.WRONLY | O.CREAT | O.CLOEXEC, 0o600], CACHE);
  program.call("close", [fd]);
  program.call("mount", [kept, CACHE, null, MS.BIND, null], CACHE);
}

/** Keeps what the CRIU that is restoring this init has found. Fine when it has kept nothing. */
export function keepKernelFacts(parts: LocalParts, init: number): void {
  const kept = pathOf(parts);
  if (existsSync(kept)) return;
  const parent = /^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${init}/status`, "utf8"))?.[1];
  const found = `/proc/${parent}/root${CACHE}`;
  if (!existsSync(found)) return;
  // Those of earlier boots and other versions.
  const directory = dirname(kept);
  for (const name of readdirSync(directory)) if (name.startsWith(basename(parts.paths.criuFacts))) rmSync(join(directory, name));
  copyFileSync(found, `${kept}.new`);
  renameSync(`${kept}.new`, kept);
}
