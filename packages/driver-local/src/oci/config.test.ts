import { expect, test } from "bun:test";
import { AGENT_ENVIRONMENT } from "@boxyard/driver";
import { bundleConfig } from "./config.ts";
import { seccompConfig } from "./seccomp/config.ts";

const input = {
  hostname: "h",
  uidBase: 65_536,
  cgroupDirectory: "/cg/x",
  memoryBytes: 1 << 30,
  maxProcesses: 100,
  restrictions: {},
  figures: [],
};
const hardLimits = { openFiles: 20_000, processes: 90_000, pendingSignals: 10_000, messageQueueBytes: 1_000_000 };
const machine = { openFiles: 16_384, hardLimits, oomScoreAdj: 0, seccomp: seccompConfig("profile", "x64") };

interface Config {
  readonly process: {
    readonly env: readonly string[];
    readonly rlimits: readonly { type: string; soft: number; hard: number }[];
    readonly noNewPrivileges: boolean;
    readonly oomScoreAdj?: number;
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
  };
  readonly annotations?: Readonly<Record<string, string>>;
  readonly linux: {
    readonly seccomp: unknown;
    readonly namespaces: readonly { type: string; path?: string }[];
    readonly uidMappings: unknown;
  };
  readonly mounts: readonly { destination: string; type: string; options: readonly string[] }[];
}
const build = (change: Partial<typeof machine> = {}) => bundleConfig(input, { ...machine, ...change }) as Config;

test("every namespace is new, the user namespace above all, with ids of its own", () => {
  const { namespaces, uidMappings } = build().linux;
  expect(namespaces.map(({ type }) => type).sort()).toEqual(["cgroup", "ipc", "mount", "network", "pid", "user", "uts"]);
  expect(namespaces.some((namespace) => "path" in namespace)).toBe(false);
  expect(uidMappings).toEqual([{ containerID: 0, hostID: 65_536, size: 65_536 }]);
});

test("no resource limit is above the machine's hard one", () => {
  expect(build().process.rlimits).toEqual([
    { type: "RLIMIT_NPROC", soft: 132, hard: 132 },
    { type: "RLIMIT_NOFILE", soft: 16_384, hard: 16_384 },
    { type: "RLIMIT_SIGPENDING", soft: 10_000, hard: 10_000 },
    { type: "RLIMIT_MSGQUEUE", soft: 819_200, hard: 819_200 },
    { type: "RLIMIT_CORE", soft: 0, hard: 0 },
  ]);
  expect(build({ hardLimits: { ...hardLimits, processes: 50 } }).process.rlimits).toContainEqual({
    type: "RLIMIT_NPROC",
    soft: 50,
    hard: 50,
  });
  expect(build({ openFiles: 1_000_000 }).process.rlimits).toContainEqual({ type: "RLIMIT_NOFILE", soft: 20_000, hard: 20_000 });
});

test("the agent runs on its own libraries and engine settings", () => {
  const { env } = build().process;
  for (const [name, value] of Object.entries(AGENT_ENVIRONMENT)) expect(env).toContain(`${name}=${value}`);
});

test("the server's protection from the out-of-memory killer is not inherited", () => {
  expect(build({ oomScoreAdj: -900 }).process.oomScoreAdj).toBe(500);
  expect(build({ oomScoreAdj: 700 }).process.oomScoreAdj).toBe(700);
});

test("no privilege that reaches past a user namespace, in no set", () => {
  for (const set of Object.values(build().process.capabilities)) {
    expect(
      set.filter((cap) => /SYS_ADMIN|SYS_MODULE|SYS_RAWIO|NET_ADMIN|MKNOD|SYS_RESOURCE|BPF|PERFMON|DAC_READ_SEARCH/.test(cap)),
    ).toEqual([]);
  }
});

test("a template may forbid new privileges and ptrace", () => {
  const restricted = (restrictions: object) => (bundleConfig({ ...input, restrictions }, machine) as Config).process;
  expect(restricted({}).noNewPrivileges).toBe(false);
  expect(restricted({ noNewPrivileges: true }).noNewPrivileges).toBe(true);
  for (const set of Object.values(restricted({}).capabilities)) expect(set).toContain("CAP_SYS_PTRACE");
  for (const set of Object.values(restricted({ noPtrace: true }).capabilities)) expect(set).not.toContain("CAP_SYS_PTRACE");
});

test("a template may allow fewer open files, never more", () => {
  const openFiles = (maxOpenFiles: number) => {
    const { process } = bundleConfig({ ...input, restrictions: { maxOpenFiles } }, machine) as Config;
    return process.rlimits.find(({ type }) => type === "RLIMIT_NOFILE")?.hard;
  };
  expect(openFiles(2_048)).toBe(2_048);
  expect(openFiles(machine.openFiles + 1)).toBe(machine.openFiles);
});

test("sysfs is read-only, and only the sandbox's own cgroup is not", () => {
  const at = (destination: string) => build().mounts.find((mount) => mount.destination === destination);
  expect(at("/sys")?.options).toContain("ro");
  expect(at("/sys/fs/cgroup")?.options).toContain("rw");
  expect(
    build()
      .mounts.filter((mount) => mount.type === "bind")
      .map((mount) => mount.destination),
  ).toEqual(["/sys/fs/cgroup"]);
});

test("file systems in memory have a limit of files as well, by their size", () => {
  const files = build()
    .mounts.filter((mount) => mount.type === "tmpfs")
    .map(({ destination, options }) => [destination, ...options.filter((option) => /^(size|nr_inodes)=/.test(option))]);
  expect(files).toEqual([
    ["/dev", `size=${64 << 20}`, "nr_inodes=16384"],
    ["/dev/shm", `size=${1 << 29}`, "nr_inodes=131072"],
  ]);
});

test("a filter of system calls is always there: compiled, or as a profile of one architecture", () => {
  const sections = (form: "bpf" | "profile") => {
    const config = build({ seccomp: seccompConfig(form, "x64") });
    return { annotations: config.annotations, seccomp: config.linux.seccomp };
  };
  expect(sections("profile")).toMatchObject({ annotations: undefined, seccomp: { architectures: ["SCMP_ARCH_X86_64"] } });
  // A runtime that ignores the annotation starts nothing.
  expect(sections("bpf")).toEqual({
    annotations: { "run.oci.seccomp_bpf_data": expect.stringMatching(/^[A-Za-z0-9+/=]{1000,}$/) },
    seccomp: { defaultAction: "SCMP_ACT_KILL" },
  });
});
