import { addTallies, failedOne, passedOne, type Suite, type SuiteContext } from "../lib/suite.ts";

/** A program that only the tests need; set-up installs the others. */
interface Need {
  readonly what: string;
  /** Debian package that contains it. */
  readonly package: string;
  /** A command that exits with 0 if the program is installed. */
  readonly probe: readonly string[];
}

const NEEDS: readonly Need[] = [
  { what: "Python's pip, for the Python client", package: "python3-pip", probe: ["python3", "-c", "import pip"] },
  { what: "git, for the list of committed files", package: "git", probe: ["git", "--version"] },
  { what: "an emulator, for the guest with pure cgroup v2", package: "qemu-system-x86", probe: ["qemu-system-x86_64", "--version"] },
  { what: "a static busybox, the guest's first program", package: "busybox-static", probe: ["busybox", "true"] },
  { what: "cpio, to pack the guest's first file system", package: "cpio", probe: ["cpio", "--version"] },
  { what: "debugfs, to read the guest's disk", package: "e2fsprogs", probe: ["debugfs", "-V"] },
  { what: "runc, the other runtime", package: "runc", probe: ["runc", "--version"] },
  { what: "a registry, for pulls and pushes", package: "docker-registry", probe: ["docker-registry", "--version"] },
  {
    what: "PostgreSQL, the other kind of store",
    package: "postgresql",
    probe: ["sh", "-c", "ls /usr/lib/postgresql/*/bin/postgres && id postgres"],
  },
  { what: "Prometheus, which scrapes the server", package: "prometheus", probe: ["promtool", "--version"] },
  { what: "a browser, for the SDK's tests in a browser", package: "chromium", probe: ["chromium", "--version"] },
  { what: "zsh, for its completion", package: "zsh", probe: ["zsh", "--version"] },
  { what: "fish, for its completion", package: "fish", probe: ["fish", "--version"] },
  { what: "strace, which answers system calls in the kernel's place", package: "strace", probe: ["strace", "--version"] },
  { what: "tmux, to drive terminal programs", package: "tmux", probe: ["tmux", "-V"] },
];

export const needs: Suite = {
  name: "needs",
  proves: "the programs that only the tests use are installed",
  limitMs: 300_000,
  run: async (context) => {
    const missing = await missingOf(context, NEEDS);
    if (missing.length > 0) await install(context, missing);
    const still = await missingOf(context, missing);
    return addTallies(
      NEEDS.map((need) => (still.includes(need) ? failedOne(`missing: ${need.what} (Debian package ${need.package})`) : passedOne())),
    );
  },
};

/** All other suites wait for the probes, so they run at the same time. */
async function missingOf(context: SuiteContext, needed: readonly Need[]): Promise<Need[]> {
  const there = await Promise.all(needed.map((need) => isThere(context, need)));
  return needed.filter((_, index) => !there[index]);
}

async function isThere({ command }: SuiteContext, need: Need): Promise<boolean> {
  const probe = ["sh", "-c", '"$@" >/dev/null 2>&1', "sh", ...need.probe];
  return (await command(probe, { limitMs: 20_000 })).exitCode === 0;
}

async function install({ command, say }: SuiteContext, missing: readonly Need[]): Promise<void> {
  const packages = missing.map((need) => need.package);
  say(`  installing ${packages.join(" ")}`);
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const install = ["apt-get", "install", "-y", "--no-install-recommends", ...packages];
  const first = await command(install, { env });
  if (first.exitCode === 0) return;
  await command(["apt-get", "update"], { env });
  await command(install, { env });
}
