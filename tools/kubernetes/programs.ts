import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";

/** Versions of what is built. A change of them is a change of the `go.mod` files in `sources/` too. */
const KUBERNETES = "1.36.3";
const RUNC = "1.3.6";

const SOURCES = join(ROOT, "tools/kubernetes/sources");

/** Runs a command, with the directory in which it works. Rejects when it fails. */
export type Run = (argv: readonly string[], options?: { cwd?: string; env?: Readonly<Record<string, string>> }) => Promise<void>;

interface Build {
  readonly what: string;
  /** A file in `bin/` that shows that it is there. */
  readonly makes: string;
  run(run: Run, bin: string): Promise<void>;
}

const GO = { GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false -mod=readonly" } as const;

/** Go says the version by which components know each other from what the linker is told. */
function versionFlags(): string {
  const [major, minor] = KUBERNETES.split(".");
  const facts = [
    `gitVersion=v${KUBERNETES}`,
    `gitMajor=${major}`,
    `gitMinor=${minor}`,
    "gitTreeState=clean",
    "buildDate=1970-01-01T00:00:00Z",
  ];
  const places = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];
  return ["-s -w", ...places.flatMap((place) => facts.map((fact) => `-X ${place}.${fact}`))].join(" ");
}

/** What is built, in order. Minutes are those of two cores with empty caches of Go. */
const BUILDS: readonly Build[] = [
  {
    what: `Kubernetes ${KUBERNETES} and etcd (six minutes)`,
    makes: "hyperkube",
    run: (run, bin) =>
      run(["go", "build", "-trimpath", "-ldflags", versionFlags(), "-o", join(bin, "hyperkube"), "."], {
        cwd: join(SOURCES, "hyperkube"),
        env: { ...GO, CGO_ENABLED: "0" },
      }),
  },
  {
    what: "containerd",
    makes: "containerd",
    run: (run, bin) => {
      const programs = ["containerd", "containerd-shim-runc-v2", "ctr"].map((name) => `github.com/containerd/containerd/v2/cmd/${name}`);
      return run(["go", "build", "-trimpath", "-tags", "no_btrfs no_zfs no_devmapper", "-ldflags", "-s -w", "-o", `${bin}/`, ...programs], {
        cwd: join(SOURCES, "cri"),
        env: { ...GO, CGO_ENABLED: "0" },
      });
    },
  },
  {
    what: "network plugins",
    makes: "cni/bridge",
    run: (run, bin) => {
      const plugins = ["main/bridge", "main/loopback", "ipam/host-local"].map(
        (name) => `github.com/containernetworking/plugins/plugins/${name}`,
      );
      return run(["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", `${join(bin, "cni")}/`, ...plugins], {
        cwd: join(SOURCES, "cri"),
        env: { ...GO, CGO_ENABLED: "0" },
      });
    },
  },
  {
    what: `runc ${RUNC}`,
    makes: "runc",
    run: (run, bin) =>
      run(
        [
          "go",
          "install",
          "-trimpath",
          "-tags",
          "seccomp",
          "-ldflags",
          `-s -w -X main.version=${RUNC}`,
          `github.com/opencontainers/runc@v${RUNC}`,
        ],
        {
          env: { GOTOOLCHAIN: "local", GOFLAGS: "-buildvcs=false", GOBIN: bin, CGO_ENABLED: "1" },
        },
      ),
  },
  {
    what: "pause",
    makes: "pause",
    run: (run, bin) => run(["gcc", "-static", "-Os", "-s", "-o", join(bin, "pause"), join(SOURCES, "pause.c")]),
  },
];

/** Where the programs are: outside of the repository, kept from run to run. */
export const programsDirectory = (cacheDir: string): string => join(cacheDir, `kubernetes-${KUBERNETES}-${process.arch}`);

/** Whether all programs are there. */
export const hasPrograms = (cacheDir: string): boolean => BUILDS.every(({ makes }) => existsSync(join(programsDirectory(cacheDir), makes)));

/** Builds what is missing. A build that is killed leaves nothing that counts as there. */
export async function buildPrograms(cacheDir: string, run: Run, say: (line: string) => void): Promise<string> {
  const directory = programsDirectory(cacheDir);
  const aside = `${directory}.new`;
  mkdirSync(join(directory, "cni"), { recursive: true });
  for (const build of BUILDS) {
    if (existsSync(join(directory, build.makes))) continue;
    say(`  building ${build.what}`);
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(join(aside, "cni"), { recursive: true });
    await build.run(run, aside);
    await run(["sh", "-c", 'cd "$1" && find . -type f -exec mv -f {} "$2"/{} \\;', "sh", aside, directory]);
  }
  rmSync(aside, { recursive: true, force: true });
  return directory;
}
