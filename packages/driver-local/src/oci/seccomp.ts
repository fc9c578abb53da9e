/**
 * The system calls that a sandbox may not make. A deny-list, because what confines a sandbox is its user namespace; this closes doors of
 * the kernel that have let people out of one before, or that count on the whole machine (docs/decisions.md, System calls). Native architecture
 * only: other ABIs of the processor are refused as a whole, and each would double the time of a create.
 *
 * `clone3` stays allowed, the agent's launcher needs it; nested user namespaces are closed by `user.max_user_namespaces` instead.
 */
const REFUSED = [
  // Kernel subsystems with a record of escapes, of no use inside.
  "bpf",
  "perf_event_open",
  "userfaultfd",
  "add_key",
  "keyctl",
  "request_key",
  "fanotify_init",
  "open_by_handle_at",
  "lookup_dcookie",
  "kcmp",
  // Modules, kernels, power.
  "init_module",
  "finit_module",
  "delete_module",
  "create_module",
  "get_kernel_syms",
  "query_module",
  "kexec_load",
  "kexec_file_load",
  "reboot",
  // Mounts and namespaces: need privileges that a sandbox lacks; refused before the kernel looks.
  "mount",
  "umount2",
  "pivot_root",
  "open_tree",
  "move_mount",
  "fsopen",
  "fsconfig",
  "fsmount",
  "fspick",
  "mount_setattr",
  "setns",
  "unshare",
  // The machine's clock, accounting, quota, swap, log, ports.
  "acct",
  "adjtimex",
  "clock_adjtime",
  "clock_settime",
  "settimeofday",
  "stime",
  "swapon",
  "swapoff",
  "quotactl",
  "quotactl_fd",
  "syslog",
  "iopl",
  "ioperm",
  "vhangup",
  // Calls of the past.
  "_sysctl",
  "nfsservctl",
  "sysfs",
  "uselib",
  "ustat",
  "vm86",
  "vm86old",
  "modify_ldt",
] as const;

/** Answered as if the kernel were built without them, so that programs fall back to what they did before these calls came. */
const ABSENT = ["io_uring_setup", "io_uring_enter", "io_uring_register"] as const;

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NAMESPACE_FLAGS = [0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];

/** Address families that are of use inside: UNIX, INET, INET6, NETLINK, PACKET. Any other would load a module of the machine's. */
const LAST_FAMILY = 17;
const REFUSED_FAMILIES_BELOW = [3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

interface SyscallRule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ERRNO";
  readonly errnoRet: number;
  readonly args?: readonly { index: number; value: number; valueTwo?: number; op: "SCMP_CMP_EQ" | "SCMP_CMP_GT" | "SCMP_CMP_MASKED_EQ" }[];
}

export interface SeccompProfile {
  readonly defaultAction: "SCMP_ACT_ALLOW";
  readonly architectures: readonly string[];
  readonly syscalls: readonly SyscallRule[];
}

export function seccompProfile(arch: string = process.arch): SeccompProfile {
  const refuse = (names: readonly string[], errnoRet: number, args?: SyscallRule["args"]): SyscallRule => ({
    names,
    action: "SCMP_ACT_ERRNO",
    errnoRet,
    ...(args && { args }),
  });
  return {
    defaultAction: "SCMP_ACT_ALLOW",
    architectures: [arch === "arm64" ? "SCMP_ARCH_AARCH64" : "SCMP_ARCH_X86_64"],
    syscalls: [
      refuse(REFUSED, EPERM),
      refuse(ABSENT, ENOSYS),
      ...NAMESPACE_FLAGS.map((flag) => refuse(["clone"], EPERM, [{ index: 0, value: flag, valueTwo: flag, op: "SCMP_CMP_MASKED_EQ" }])),
      refuse(["socket", "socketpair"], EAFNOSUPPORT, [{ index: 0, value: LAST_FAMILY, op: "SCMP_CMP_GT" }]),
      ...REFUSED_FAMILIES_BELOW.map((family) =>
        refuse(["socket", "socketpair"], EAFNOSUPPORT, [{ index: 0, value: family, op: "SCMP_CMP_EQ" }]),
      ),
    ],
  };
}
