import { chmodSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificates } from "./certificates.ts";
import { type Component, components, ctr } from "./components.ts";
import type { Run } from "./programs.ts";
import { Relay } from "./relay.ts";
import {
  API_PORT,
  BRIDGE,
  type ClusterPaths,
  containerdSettings,
  kubeletSettings,
  NODE_ADDRESS,
  networkSettings,
  pki,
  SERVICE_ADDRESS,
} from "./settings.ts";

const READY_MS = 120_000;
const STOP_MS = 10_000;
const LOOK_MS = 100;
const CGROUPS = "/sys/fs/cgroup";

/** A cluster with one node, in the network and mount namespace of this process. */
export class Cluster {
  private readonly paths: ClusterPaths;
  private readonly run: Run;
  private readonly processes = new Map<string, Bun.Subprocess>();
  private service: Relay | undefined;

  constructor(paths: ClusterPaths, run: Run) {
    this.paths = paths;
    this.run = run;
  }

  /** Starts everything, and resolves when the node takes pods. `archives`: images that it has. */
  async start(archives: readonly string[]): Promise<void> {
    const { directory } = this.paths;
    await this.prepare();
    for (const component of components(this.paths)) {
      this.spawn(component);
      if (component.name === "containerd") await this.importImages(archives);
      if (component.name === "kube-apiserver")
        await this.until("the API server answers", async () => (await this.get("/readyz")) !== undefined);
    }
    this.service = await Relay.open({ host: SERVICE_ADDRESS, port: 443 }, () => ({ host: "127.0.0.1", port: API_PORT }));
    await this.until("the node takes pods", async () => {
      const node = (await this.get("/api/v1/nodes/node1")) as NodeObject | undefined;
      const ready = node?.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True");
      return ready === true && !node?.spec?.taints?.length;
    });
    await this.until(
      "the default account is there",
      async () => (await this.get("/api/v1/namespaces/default/serviceaccounts/default")) !== undefined,
    );
    writeFileSync(join(directory, "ready"), "");
  }

  /** Removes the pods, so that their containers and mounts go, then ends everything. */
  async stop(): Promise<void> {
    const namespaces = (await this.get("/api/v1/namespaces").catch(() => undefined)) as
      | { items?: { metadata: { name: string } }[] }
      | undefined;
    for (const { metadata } of namespaces?.items ?? []) {
      await this.send("DELETE", `/api/v1/namespaces/${metadata.name}/pods`, { gracePeriodSeconds: 1 }).catch(() => {});
    }
    const empty = async () => ((await this.get("/api/v1/pods?limit=1")) as { items?: unknown[] } | undefined)?.items?.length === 0;
    await this.until("the pods are gone", empty, 3 * STOP_MS).catch(() => {});
    // The kubelet first: it would start again what is ended behind its back.
    for (const name of [...this.processes.keys()].reverse()) await this.end(name);
    this.service?.close();
    removeCgroups(this.paths.cgroup);
  }

  /** Sends a signal to a component. SIGKILL resolves when it has ended. */
  async signal(name: string, signal: NodeJS.Signals): Promise<void> {
    const child = this.processes.get(name);
    if (!child) throw new Error(`there is no component ${name}`);
    child.kill(signal);
    if (signal === "SIGKILL") await child.exited;
  }

  /** Starts a component that has ended. */
  startAgain(name: string): void {
    const component = components(this.paths).find((one) => one.name === name);
    const before = this.processes.get(name);
    if (!component || !before || (before.exitCode === null && before.signalCode === null))
      throw new Error(`${name} does not wait for a start`);
    this.spawn(component);
  }

  /** The last lines of a component's output, for a failure. */
  lastWords(): string {
    return components(this.paths)
      .map(
        ({ name }) =>
          `${name}:\n${readIfThere(join(this.paths.directory, "log", name))
            .split("\n")
            .slice(-6)
            .join("\n")}`,
      )
      .join("\n");
  }

  private async prepare(): Promise<void> {
    const { directory, cgroup } = this.paths;
    for (const name of ["log", "cni"]) mkdirSync(join(directory, name), { recursive: true });
    // Root of a user namespace must be able to walk to its files.
    for (const name of ["cd-root", "cd-state"]) mkdirSync(join(directory, name), { recursive: true, mode: 0o711 });
    chmodSync(directory, 0o711);
    writeFileSync(join(directory, "containerd.toml"), containerdSettings(this.paths));
    writeFileSync(join(directory, "kubelet.json"), kubeletSettings(this.paths));
    writeFileSync(join(directory, "cni/10-pods.conflist"), networkSettings(this.paths));
    await makeCertificates(pki(this.paths), this.run);
    // On a hybrid machine the v2 hierarchy has no controllers: there runc makes the groups that it wants.
    for (const hierarchy of hierarchies().filter((path) => !path.endsWith("/unified")))
      mkdirSync(join(hierarchy, cgroup), { recursive: true });
    await this.run(["ip", "link", "set", "lo", "up"]);
    // No kube-proxy is there to lead pods from the Service of the API to its port.
    await this.run(["ip", "addr", "add", `${SERVICE_ADDRESS}/32`, "dev", "lo"]);
    await this.run(["ip", "link", "add", BRIDGE, "type", "bridge"]);
    await this.run(["ip", "addr", "add", `${NODE_ADDRESS}/24`, "dev", BRIDGE]);
    await this.run(["ip", "link", "set", BRIDGE, "up"]);
    // The names of pods' network namespaces, which nobody outside of this mount namespace sees.
    mkdirSync("/run/netns", { recursive: true });
    await this.run(["mount", "-t", "tmpfs", "-o", "size=1m", "netns", "/run/netns"]);
  }

  private spawn({ name, argv }: Component): void {
    const log = openSync(join(this.paths.directory, "log", name), "a");
    this.processes.set(name, Bun.spawn([...argv], { stdin: "ignore", stdout: log, stderr: log, cwd: this.paths.directory }));
  }

  private async importImages(archives: readonly string[]): Promise<void> {
    await this.until("containerd answers", () => this.succeeds(ctr(this.paths, "version")));
    for (const archive of archives) await this.run(ctr(this.paths, "images", "import", archive));
  }

  private async succeeds(argv: readonly string[]): Promise<boolean> {
    return this.run(argv).then(
      () => true,
      () => false,
    );
  }

  private async end(name: string): Promise<void> {
    const child = this.processes.get(name);
    if (!child) return;
    // containerd's shims are no children of this process, and outlive it.
    if (name === "containerd")
      await this.run(["sh", "-c", `for t in $("$@" t ls -q); do "$@" t kill -s KILL "$t"; done`, "sh", ...ctr(this.paths)]).catch(() => {});
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await child.exited;
    clearTimeout(timer);
    this.processes.delete(name);
  }

  private get(path: string): Promise<unknown> {
    return this.send("GET", path);
  }

  /** The answer's JSON; undefined for a refusal, and while nothing answers. */
  private async send(method: string, path: string, body?: object): Promise<unknown> {
    const at = (name: string) => readFileSync(join(pki(this.paths), name), "utf8");
    const response = await fetch(`https://127.0.0.1:${API_PORT}${path}`, {
      method,
      ...(body && { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
      tls: { ca: at("ca.crt"), cert: at("admin.crt"), key: at("admin.key") },
    } as RequestInit).catch(() => undefined);
    if (!response?.ok) return undefined;
    const text = await response.text();
    return text === "ok" ? {} : JSON.parse(text);
  }

  private async until(what: string, look: () => Promise<boolean>, limitMs = READY_MS): Promise<void> {
    const end = performance.now() + limitMs;
    while (!(await look())) {
      for (const [name, child] of this.processes) {
        if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode} before ${what}`);
      }
      if (performance.now() > end) throw new Error(`not within ${limitMs / 1000} s: ${what}`);
      await Bun.sleep(LOOK_MS);
    }
  }
}

interface NodeObject {
  readonly spec?: { readonly taints?: readonly unknown[] };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

/** The roots of the machine's cgroup hierarchies. */
function hierarchies(): string[] {
  if (existsSync(join(CGROUPS, "cgroup.controllers"))) return [CGROUPS];
  return readdirSync(CGROUPS, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(CGROUPS, entry.name));
}

/**
 * Removes a cluster's cgroups, also those of one that was killed. The containers of one whose API server or containerd has failed still run: they are
 * killed, and given a moment to end.
 */
export function removeCgroups(cgroup: string): void {
  const groups = hierarchies().map((hierarchy) => join(hierarchy, cgroup));
  const end = performance.now() + STOP_MS;
  while (groups.filter(killGroup).length > 0 && performance.now() < end) Bun.sleepSync(LOOK_MS);
  for (const group of groups) removeGroup(group);
}

/** Kills the processes of a cgroup and of those below it; false when there were none. */
function killGroup(path: string): boolean {
  if (!existsSync(path)) return false;
  const below = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const pids = readIfThere(join(path, "cgroup.procs")).split("\n").filter(Boolean);
  for (const pid of pids) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
  return below.map(({ name }) => killGroup(join(path, name))).includes(true) || pids.length > 0;
}

function removeGroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) removeGroup(join(path, entry.name));
  try {
    rmdirSync(path);
  } catch {
    // A process is still ending there; the next run removes it.
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8").trimEnd();
  } catch {
    return "";
  }
}
