import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Platform, runProgram } from "@boxyard/testkit";
import type { EngineNamespaces } from "./engine-namespaces.ts";

/** For machines where root has no CAP_SYS_RESOURCE, and where crun refuses the hybrid cgroups (SPECIFICATION.md). */
const SETTINGS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000"];
const PODMAN = ["podman", "--runtime=runc", "--cgroup-manager=cgroupfs"];

/** The tree that the template `base` starts from, so that every competitor runs the same files. */
export async function baseTree(platform: Platform): Promise<string> {
  const template = (await Bun.file(join(platform.dataDir, "templates/base.json")).json()) as { image: { layers: string[] } };
  const layer = (template.image.layers.at(-1) ?? "").replace("sha256:", "");
  const layers = join(platform.dataDir, "pool/layers");
  const directory = readdirSync(layers).find((name) => name.includes(layer)) ?? layer;
  return join(layers, directory);
}

export const hasPodman = (): boolean => existsSync("/usr/bin/podman");
/** The bench installs nothing: for the comparison a user installs the packages. */
export const NO_PODMAN = "podman is not installed (Debian packages podman and runc): not compared";
export const NO_BWRAP = "bwrap is not installed (Debian package bubblewrap): not compared";
export const hasBwrap = (): boolean => existsSync("/usr/bin/bwrap");

/** `podman run --rm` of a command in the tree; `network` is podman's own word. */
export function podmanRun(
  namespaces: EngineNamespaces,
  tree: string,
  network: "none" | "bridge",
  command: readonly string[],
): Promise<void> {
  return namespaces.run([...PODMAN, "run", "--rm", ...SETTINGS, `--network=${network}`, "--rootfs", `${tree}:O`, ...command]);
}

export async function podmanHold(
  namespaces: EngineNamespaces,
  tree: string,
  name: string,
): Promise<AsyncDisposable & { exec(command: readonly string[]): Promise<void> }> {
  await namespaces.run([...PODMAN, "run", "-d", "--name", name, ...SETTINGS, "--network=none", "--rootfs", `${tree}:O`, "sleep", "600"]);
  return {
    exec: (command) => namespaces.run([...PODMAN, "exec", name, ...command]),
    [Symbol.asyncDispose]: () => namespaces.run([...PODMAN, "rm", "-f", "-t", "0", name]),
  };
}

export async function bwrapRun(tree: string, command: readonly string[]): Promise<void> {
  const argv = ["bwrap", "--unshare-all", "--ro-bind", tree, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", ...command];
  const ended = await runProgram(argv);
  if (ended.exitCode !== 0) throw new Error(`${argv.join(" ")}: ${ended.stderr.trim()}`);
}
