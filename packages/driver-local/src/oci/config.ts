import { ROOT_MOUNT } from "../rootfs/mounts.ts";
import { RANGE_SIZE } from "../rootfs/uid-ranges.ts";
import { AGENT_ENVIRONMENT } from "../setup/guest/environment.ts";
import { DEVICE_RULES, LINUX_CAPS, MASKED_PATHS, READONLY_PATHS } from "./confinement.ts";
import type { SeccompConfig } from "./seccomp/config.ts";

/** What differs from sandbox to sandbox in the runtime's config.json. */
export interface BundleInput {
  readonly hostname: string;
  readonly uidBase: number;
  /** The sandbox's v2 cgroup on this machine. */
  readonly cgroupFolder: string;
  /** For shared memory; a share of the sandbox's own memory limit. */
  readonly memoryBytes: number;
  /** Processes and threads that commands may have. */
  readonly maxProcesses: number;
}

/** What differs from machine to machine. */
export interface MachineFacts {
  /** Hard limit of open files; a higher one fails in a user namespace without CAP_SYS_RESOURCE. */
  readonly maxOpenFiles: number;
  /** Hard limit of processes per user; same. */
  readonly maxProcesses: number;
  /** Our own `oom_score_adj`. */
  readonly oomScoreAdj: number;
  /** The system calls that sandboxes may make, as this machine's runtime takes it. The same for all. */
  readonly seccomp: SeccompConfig;
}

/** When the machine's memory runs out, the kernel takes sandboxes before anything else; `launch` puts commands above it. */
const OOM_SCORE_ADJ = 500;
const OPEN_FILES = 65_536;
/** Threads that are the agent's own: ROOM of images/guest/launch/prepare.c. */
const AGENT_ROOM = 32;
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

function mounts(input: BundleInput) {
  const hidden = ["nosuid", "noexec", "nodev"];
  return [
    { destination: "/proc", type: "proc", source: "proc", options: hidden },
    { destination: "/dev", type: "tmpfs", source: "tmpfs", options: ["nosuid", "strictatime", "mode=755", "size=65536k"] },
    {
      destination: "/dev/pts",
      type: "devpts",
      source: "devpts",
      options: ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"],
    },
    {
      destination: "/dev/shm",
      type: "tmpfs",
      source: "shm",
      options: ["nosuid", "nodev", "mode=1777", `size=${Math.floor(input.memoryBytes / 2)}`],
    },
    { destination: "/dev/mqueue", type: "mqueue", source: "mqueue", options: hidden },
    { destination: "/sys", type: "sysfs", source: "sysfs", options: ["ro", ...hidden] },
    { destination: "/sys/fs/cgroup", type: "bind", source: input.cgroupFolder, options: ["bind", "rw", ...hidden] },
  ];
}

function rlimits(input: BundleInput, machine: MachineFacts) {
  const files = Math.min(OPEN_FILES, machine.maxOpenFiles);
  const processes = Math.min(input.maxProcesses + AGENT_ROOM, machine.maxProcesses);
  return [
    // Of each user inside. `launch` takes the agent's room off for commands, so that no fork bomb starves the agent.
    { type: "RLIMIT_NPROC", soft: processes, hard: processes },
    { type: "RLIMIT_NOFILE", soft: files, hard: files },
    // A core dump may be handed to a program of the machine's.
    { type: "RLIMIT_CORE", soft: 0, hard: 0 },
  ];
}

/** The OCI runtime configuration (runtime-spec 1.0) of a sandbox. Cgroups are ours to make and to limit, so it names none. */
export function bundleConfig(input: BundleInput, machine: MachineFacts): object {
  const mapping = [{ containerID: 0, hostID: input.uidBase, size: RANGE_SIZE }];
  return {
    ociVersion: "1.0.0",
    root: { path: ROOT_MOUNT, readonly: false },
    hostname: input.hostname,
    process: {
      terminal: false,
      user: { uid: 0, gid: 0 },
      args: ["/.boxyard/init", "--", "/.boxyard/agent"],
      env: Object.entries({ PATH, ...AGENT_ENVIRONMENT }).map(([name, value]) => `${name}=${value}`),
      cwd: "/",
      capabilities: { bounding: LINUX_CAPS, effective: LINUX_CAPS, permitted: LINUX_CAPS },
      // sudo must work inside; its powers end at the user namespace.
      noNewPrivileges: false,
      rlimits: rlimits(input, machine),
      // Without CAP_SYS_RESOURCE nobody may go below what he inherited.
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
