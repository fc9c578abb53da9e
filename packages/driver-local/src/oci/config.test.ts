import { expect, test } from "bun:test";
import { AGENT_ENVIRONMENT } from "../setup/guest/environment.ts";
import { bundleConfig } from "./config.ts";
import { seccompProfile } from "./seccomp.ts";

const input = { hostname: "h", uidBase: 65_536, cgroupFolder: "/cg/x", memoryBytes: 1 << 30, maxProcesses: 100 };
const machine = { maxOpenFiles: 20_000, maxProcesses: 90_000, oomScoreAdj: 0 };

interface Config {
  readonly process: {
    readonly env: readonly string[];
    readonly rlimits: unknown;
    readonly oomScoreAdj?: number;
    readonly capabilities: Readonly<Record<string, readonly string[]>>;
  };
  readonly linux: { readonly namespaces: readonly { type: string; path?: string }[]; readonly uidMappings: unknown };
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
    { type: "RLIMIT_NOFILE", soft: 20_000, hard: 20_000 },
    { type: "RLIMIT_CORE", soft: 0, hard: 0 },
  ]);
  expect(build({ maxProcesses: 50, maxOpenFiles: 1_000_000 }).process.rlimits).toContainEqual({ type: "RLIMIT_NPROC", soft: 50, hard: 50 });
});

test("the agent runs on its own libraries and engine settings", () => {
  const { env } = build().process;
  for (const [name, value] of Object.entries(AGENT_ENVIRONMENT)) expect(env).toContain(`${name}=${value}`);
});

test("the server's protection from the out-of-memory killer is not inherited", () => {
  expect(build({ oomScoreAdj: -900 }).process.oomScoreAdj).toBe(0);
  expect(build({ oomScoreAdj: 200 }).process.oomScoreAdj).toBeUndefined();
});

test("no privilege that reaches past a user namespace, in no set", () => {
  for (const set of Object.values(build().process.capabilities)) {
    expect(
      set.filter((cap) => /SYS_ADMIN|SYS_MODULE|SYS_RAWIO|NET_ADMIN|MKNOD|SYS_RESOURCE|BPF|PERFMON|DAC_READ_SEARCH/.test(cap)),
    ).toEqual([]);
  }
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

test("the seccomp profile is for one architecture and leaves clone3 alone", () => {
  const profile = seccompProfile("x64");
  expect(profile.architectures).toEqual(["SCMP_ARCH_X86_64"]);
  expect(seccompProfile("arm64").architectures).toEqual(["SCMP_ARCH_AARCH64"]);
  const named = (name: string) => profile.syscalls.filter((rule) => rule.names.includes(name));
  expect(named("clone3")).toEqual([]);
  expect(named("clone").map((rule) => rule.args?.[0]?.value)).toContain(0x1000_0000);
  for (const name of ["io_uring_setup", "bpf", "perf_event_open", "userfaultfd", "keyctl", "finit_module", "kexec_load"]) {
    expect(named(name)).toHaveLength(1);
  }
});
