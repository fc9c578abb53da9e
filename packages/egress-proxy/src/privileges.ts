import { errno, lazyLibc } from "@boxyard/core/libc";

const PR_SET_PDEATHSIG = 1;
const PR_SET_NO_NEW_PRIVS = 38;
const SIGKILL = 9;

const libc = lazyLibc("prctl", "setgid", "setgroups", "setuid");

/**
 * Gives up root for good: no groups, this id as user and group, and no way back by a program with set-user-id. Then asks the kernel to end this process with
 * its parent; a change of the user would take that back. Throws when the kernel refuses one of these.
 */
export function becomeUser(id: number): void {
  const { setgroups, setgid, setuid, prctl } = libc();
  const done = (name: string, result: number) => {
    if (result !== 0) throw new Error(`${name} failed with errno ${errno()}`);
  };
  done("setgroups", setgroups(0, null));
  done("setgid", setgid(id));
  done("setuid", setuid(id));
  done("prctl", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  done("prctl", prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}
