import { AGENT_ENVIRONMENT, AGENT_PATH, LINUX_CAPS, type Restrictions } from "@boxyard/driver";
import { type Figure, figureMounts } from "../figures/files.ts";
import { type InMemorySize, inMemory, sharedMemoryOf } from "../rootfs/in-memory.ts";
import { ROOT_MOUNT } from "../rootfs/mounts.ts";
import { RANGE_SIZE } from "../rootfs/uid-ranges.ts";
import { DEVICE_RULES, MASKED_PATHS, READONLY_PATHS } from "./confinement.ts";
import type { SeccompConfig } from "./seccomp/config.ts";

/** What differs from sandbox to sandbox in the runtime's config.json. */
export interface BundleInput {
  readonly hostname: string;
  readonly uidBase: number;
  /** The sandbox's v2 cgroup on this machine. */
  readonly cgroupDirectory: string;
  /** The sandbox's memory limit; /dev/shm may hold half of it. */
  readonly memoryBytes: number;
  /** Processes and threads that commands may have. */
  readonly maxProcesses: number;
  readonly restrictions: Restrictions;
  /** Files of the kernel of which the sandbox sees its own version. */
  readonly figures: readonly Figure[];
}

/** What differs from machine to machine. */
export interface MachineFacts {
  /** Files that one process of a sandbox may have open (`BOXYARD_MAX_OPEN_FILES`). */
  readonly openFiles: number;
  /** Hard limits of the server's process; higher ones fail in a user namespace without CAP_SYS_RESOURCE. */
  readonly hardLimits: HardLimits;
  /** `oom_score_adj` of the server's process. */
  readonly oomScoreAdj: number;
  /** The system calls that sandboxes may make, as this machine's runtime takes it. The same for all. */
  readonly seccomp: SeccompConfig;
}

/** Hard resource limits of a process, from /proc/<pid>/limits. */
export interface HardLimits {
  readonly openFiles: number;
  readonly processes: number;
  readonly pendingSignals: number;
  readonly messageQueueBytes: number;
}

/**
 * Pending signals, and bytes in POSIX message queues: for all users of a sandbox together, because the kernel charges them to the creator of its
 * user namespace.
 */
const PENDING_SIGNALS = 16_384;
const MESSAGE_QUEUE_BYTES = 819_200;
/** Terminals of a sandbox; all sandboxes share the machine's number of them (`kernel.pty.max`). */
const MAX_TERMINALS = 256;
/** When the machine's memory runs out, the kernel kills processes of sandboxes first; `launch` gives commands a higher value. */
const OOM_SCORE_ADJ = 500;
/** Threads that are the agent's own: ROOM of native/guest/launch/prepare.c. */
const AGENT_ROOM = 32;

const DEV_BYTES = 64 << 20;
/** Options of a file system in memory. */
const sizeOptions = ({ bytes, files }: InMemorySize) => [`size=${bytes}`, `nr_inodes=${files}`];

function mounts(input: BundleInput) {
  const hidden = ["nosuid", "noexec", "nodev"];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: hidden },
    {
      destination: "/dev",
      type: "tmpfs",
      source: "tmpfs",
      options: ["nosuid", "strictatime", "mode=755", ...sizeOptions(inMemory(DEV_BYTES))],
    },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5", `max=${MAX_TERMINALS}`],
    },
    {
      destination: "/dev/shm",
      type: "tmpfs",
      source: "shm",
      options: ["nosuid", "nodev", "mode=1777", ...sizeOptions(sharedMemoryOf(input.memoryBytes))],
    },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: hidden },
    { destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro", ...hidden] },
    { destination: "/sys/fs/cgroup", type: "bind", source: input.cgroupDirectory, options: ["bind", "rw", ...hidden] },
    ...figureMounts(input.figures),
  ];
}

function rlimits(input: BundleInput, { openFiles, hardLimits }: MachineFacts) {
  const limit = (type: string, wanted: number, hard: number) => ({ type, soft: Math.min(wanted, hard), hard: Math.min(wanted, hard) });
  return [
    // For each user inside. `launch` lowers it by AGENT_ROOM for commands, so that no fork bomb starves the agent.
    limit("RLIMIT_NPROC", input.maxProcesses + AGENT_ROOM, hardLimits.processes),
    // For the agent; `launch` gives commands a soft limit of 1,024.
    limit("RLIMIT_NOFILE", Math.min(openFiles, input.restrictions.maxOpenFiles ?? openFiles), hardLimits.openFiles),
    limit("RLIMIT_SIGPENDING", PENDING_SIGNALS, hardLimits.pendingSignals),
    limit("RLIMIT_MSGQUEUE", MESSAGE_QUEUE_BYTES, hardLimits.messageQueueBytes),
    // The kernel may pass a core dump to a program of the machine.
    { type: "RLIMIT_CORE", soft: 0, hard: 0 },
  ];
}

/** The OCI runtime configuration (runtime-spec 1.0) of a sandbox. It names no cgroups: the driver makes and limits them. */
export function bundleConfig(input: BundleInput, machine: MachineFacts): object {
  const { noNewPrivileges = false, noPtrace } = input.restrictions;
  const linuxCaps = LINUX_CAPS.filter((name) => !(noPtrace && name === "CAP_SYS_PTRACE"));
  const mapping = [{ containerID: 0, hostID: input.uidBase, size: RANGE_SIZE }];
  return {
    ociVersion: "1.0.0",
    root: { path: ROOT_MOUNT, readonly: false },
    hostname: input.hostname,
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: ["/.boxyard/init", "--", "/.boxyard/agent"],
      env: Object.entries({ PATH: AGENT_PATH, ...AGENT_ENVIRONMENT }).map(([name, value]) => `${name}=${value}`),
      cwd: "/",
      capabilities: { bounding: linuxCaps, effective: linuxCaps, permitted: linuxCaps },
      // sudo works inside unless the template says otherwise; its privileges end at the user namespace.
      noNewPrivileges,
      rlimits: rlimits(input, machine),
      // Without CAP_SYS_RESOURCE no process may go below what it inherited.
      oomScoreAdj: Math.max(OOM_SCORE_ADJ, machine.oomScoreAdj),
    },
    mounts: mounts(input),
    ...(machine.seccomp.annotations && { annotations: machine.seccomp.annotations }),
    linux: {
      namespaces: ["pid", "ipc", "uts", "mount", "cgroup", "user", "network"].map((type) => ({ type })),
      uidMappings: mapping,
      gidMappings: mapping,
      resources: { devices: DEVICE_RULES },
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READONLY_PATHS,
      seccomp: machine.seccomp.seccomp,
    },
  };
}
