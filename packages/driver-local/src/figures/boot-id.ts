import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { ChildProgram, Result } from "../sys/fork-server/index.ts";
import {
  AT_EMPTY_PATH,
  AT_FDCWD,
  CLONE,
  MOUNT_ATTR,
  MOVE_MOUNT_F_EMPTY_PATH,
  MS,
  O,
  OPEN_TREE_CLOEXEC,
  OPEN_TREE_CLONE,
} from "../sys/libc.ts";
import { BOOT_ID, BOOT_ID_PATH } from "./files.ts";
import { writeFact } from "./write-fact.ts";

/** Identity of a new boot, in the kernel's form: a random UUID. */
export const newBootId = (): string => randomUUID();

const fileIn = (facts: string): string => join(facts, BOOT_ID);

/** Writes the file that the sandbox will see in the place of the kernel's. `facts`: directory of its host facts. */
export function writeBootId(facts: string, bootId: string): void {
  writeFact(fileIn(facts), `${bootId}\n`);
}

/**
 * The calls of a child that shows a sandbox its own boot identity. The runtime cannot make this mount: runc refuses any in /proc/sys, and crun makes
 * /proc/sys read-only by a second mount above it.
 */
export class BootIdMount {
  private readonly program: ChildProgram;
  private readonly tree: Result;
  private readonly namespace: Result;

  /** To be made while the child is still the machine's root. `pid`: the sandbox's init. */
  constructor(program: ChildProgram, facts: string, pid: number) {
    this.program = program;
    const file = fileIn(facts);
    this.tree = program.call("open_tree", [AT_FDCWD, file, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC], file);
    const { RDONLY, NOSUID, NODEV, NOEXEC } = MOUNT_ATTR;
    // struct mount_attr: set, clear, propagation, user namespace.
    const words = new BigUint64Array([BigInt(RDONLY | NOSUID | NODEV | NOEXEC), 0n, BigInt(MS.PRIVATE), 0n]);
    program.call("mount_setattr", [this.tree, "", AT_EMPTY_PATH, words, words.byteLength], `${file} read-only`);
    const path = `/proc/${pid}/ns/mnt`;
    this.namespace = program.call("openat", [AT_FDCWD, path, O.RDONLY | O.CLOEXEC, 0], path);
  }

  /** After this the child sees the sandbox's files alone. */
  attach(): void {
    this.program.call("setns", [this.namespace, CLONE.NEWNS], "mount namespace");
    this.program.call("move_mount", [this.tree, "", AT_FDCWD, BOOT_ID_PATH, MOVE_MOUNT_F_EMPTY_PATH], BOOT_ID_PATH);
  }
}
