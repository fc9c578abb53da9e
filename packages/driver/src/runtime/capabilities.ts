/** Privileges within the sandbox's own user namespace; none of them reaches past it. Docker's set without MKNOD, with SYS_PTRACE for debuggers. */
export const LINUX_CAPS = [
  "CAP_AUDIT_WRITE",
  "CAP_CHOWN",
  "CAP_DAC_OVERRIDE",
  "CAP_FOWNER",
  "CAP_FSETID",
  "CAP_KILL",
  "CAP_NET_BIND_SERVICE",
  "CAP_NET_RAW",
  "CAP_SETFCAP",
  "CAP_SETGID",
  "CAP_SETPCAP",
  "CAP_SETUID",
  "CAP_SYS_CHROOT",
  "CAP_SYS_PTRACE",
] as const;
