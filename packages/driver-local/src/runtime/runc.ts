import { KernelError } from "@boxyard/core/errno";
import { AT_FDCWD, AT_RECURSIVE, close, MOUNT_ATTR, MS, O, open, trySyscall } from "../sys/libc.ts";
import type { Dialect } from "./dialect.ts";

/** Where runc looks for cgroups, whatever the machine has mounted elsewhere. */
const CGROUP_ROOT = "/sys/fs/cgroup";
const ENXIO = 6;
const LOOK_MS = 1;
const LONGEST_LOOK_MS = 10;

/**
 * runc, for machines where crun is missing or does not work. It has no option for "no cgroups", but with `--rootless` it goes on when it may not
 * write them: so all cgroups are mounted read-only, except the sandbox's own, which will be visible inside the sandbox.
 */
export const runc: Dialect = {
  name: "runc",
  options: ["--rootless=true"],
  env: {},

  filters: /^libseccomp: /m,
  seccompForm: () => "profile",

  addMounts(program, { cgroup }) {
    const readOnly = BigInt(MOUNT_ATTR.RDONLY);
    // struct mount_attr: set, clear, propagation, user namespace.
    const shut = new BigUint64Array([readOnly, 0n, 0n, 0n]);
    const opened = new BigUint64Array([0n, readOnly, 0n, 0n]);
    program.call("mount", [cgroup, cgroup, null, MS.BIND, null], cgroup);
    program.call("mount_setattr", [AT_FDCWD, CGROUP_ROOT, AT_RECURSIVE, shut, shut.byteLength], `${CGROUP_ROOT} read-only`);
    program.call("mount_setattr", [AT_FDCWD, cgroup, 0, opened, opened.byteLength], `${cgroup} writable`);
  },

  /** What `runc start` does, without its 6 ms: the waiting init opens the fifo as soon as it has a reader, and writes a byte. */
  async start(fifo, isAlive, clock) {
    const fd = open(fifo, O.RDONLY | O.NONBLOCK);
    try {
      for (let pause = LOOK_MS; !hasRead(fd); pause = Math.min(pause * 1.5, LONGEST_LOOK_MS)) {
        // The reader must not close the fifo before the byte is there: init's write would fail, and init would end.
        if (!isAlive()) throw new KernelError(`start by ${fifo}`, ENXIO);
        await clock.sleep(pause);
      }
    } finally {
      close(fd);
    }
  },
};

/** True once the byte was read. While there is no writer, `read` returns an end of file; before the writer has written, EAGAIN. */
function hasRead(fd: number): boolean {
  return trySyscall("read", fd, new Uint8Array(8), 8) > 0;
}
