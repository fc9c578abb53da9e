import { chmodSync, copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Programs of busybox that the tests use in a sandbox. */
const PROGRAMS = [
  "sh",
  "cat",
  "dirname",
  "echo",
  "id",
  "kill",
  "ls",
  "mkdir",
  "mv",
  "pidof",
  "printf",
  "rm",
  "sleep",
  "stat",
  "touch",
  "true",
  "wget",
];

/** The files of a small sandbox: a shell, and the user that commands have by default. */
export function makeSmallTree(tree: string, busybox: string): void {
  for (const directory of ["bin", "dev", "etc", "home/user", "proc", "root", "run", "sys", "tmp", "var/tmp"]) {
    mkdirSync(join(tree, directory), { recursive: true });
  }
  chmodSync(join(tree, "tmp"), 0o1777);
  copyFileSync(busybox, join(tree, "bin/busybox"));
  chmodSync(join(tree, "bin/busybox"), 0o755);
  for (const name of PROGRAMS) symlinkSync("busybox", join(tree, "bin", name));
  writeFileSync(join(tree, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n");
  writeFileSync(join(tree, "etc/group"), "root:x:0:\nuser:x:1000:\n");
}

/** The files of the pause image. */
export function makePauseTree(tree: string, pause: string): void {
  mkdirSync(tree, { recursive: true });
  copyFileSync(pause, join(tree, "pause"));
  chmodSync(join(tree, "pause"), 0o755);
}
