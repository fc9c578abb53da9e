import { setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AGENT_ENVIRONMENT, ENGINE_SETTINGS } from "@boxyard/driver";
import { freePort } from "@boxyard/testkit";
import type { AgentUnderTest } from "./agent-access.ts";
import { readAgentSuiteConfig } from "./config.ts";
import { buildInit, buildLaunch } from "./launch.ts";
import { startSandboxAgent } from "./sandbox-agent.ts";

// Most tests take milliseconds; the machine may be busy with others.
setDefaultTimeout(30_000);

export interface StartOptions {
  /** `open`: an `/init` that sets neither token nor user. `none`: none at all. Default: default user `user`, a random token. */
  readonly init?: "open" | "none";
  /** Lines of `/etc/passwd` and `/etc/group`; null: no such file. Default: root and `user` (1000), who is also in `staff` (50) and `sudo` (27). */
  readonly passwd?: string | null;
  readonly group?: string | null;
  /** Shell text run as root in the sandbox's namespaces before the agent, to change what it finds. */
  readonly prepare?: string;
  /** The same for tests of `testAlone` only: agents in sandboxes are started without it. */
  readonly prepareAlone?: string;
  /** Limits of the control groups of the whole sandbox. */
  readonly maxProcesses?: number;
  readonly memoryBytes?: number;
  readonly limits?: Readonly<Record<string, number>>;
  /** More settings of the agent. */
  readonly settings?: Readonly<Record<string, string>>;
  /** A compiled agent to start; the sources by default. */
  readonly executable?: string;
  /** Runs the agent of a guest bundle in a root file system of its own, as a sandbox does, in place of the machine's. */
  readonly image?: {
    /** Directory of the bundle. */
    readonly bundle: string;
    /** Shell text that fills the directory `$ROOT`, which is empty but for mount points. */
    readonly fill: string;
  };
}

const INIT_KEY = "0123456789abcdef";
const PASSWD = "root:x:0:0:root:/root:/bin/bash\nuser:x:1000:1000::/home/user:/bin/bash\nother:x:1001:1001::/home/other:/bin/bash\n";
const GROUP = "root:x:0:\nuser:x:1000:\nother:x:1001:\nstaff:x:50:user\nsudo:x:27:other,user\n";

/** A test that needs what no sandbox allows: mounts, devices, settings of the kernel. Not run where the agents are in sandboxes. */
export function testAlone(name: string, body: () => Promise<void>): void {
  if (!readAgentSuiteConfig().inSandbox) test(name, body);
}

/**
 * A fresh agent in namespaces and control groups that vanish with it; needs root. Where the settings want sandboxes, and the test asks for
 * nothing special, it is that of a fresh sandbox.
 */
export async function startAgent(options: StartOptions = {}): Promise<AgentUnderTest> {
  const config = readAgentSuiteConfig();
  if (config.inSandbox && Object.keys(options).every((name) => name === "prepareAlone")) return startSandboxAgent();
  const place = new Place(options);
  const port = await freePort();
  const child = Bun.spawn(
    [
      "setpriv",
      "--pdeathsig",
      "SIGKILL",
      "unshare",
      "--mount",
      "--pid",
      "--fork",
      "--kill-child",
      "--",
      "/bin/sh",
      join(place.directory, "boot.sh"),
    ],
    {
      env: { PATH: config.path, BOXYARD_INIT_KEY: INIT_KEY, ...place.environment(port, options) },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  const stop = async () => {
    child.kill("SIGKILL");
    await child.exited;
    await place.remove();
  };
  const baseUrl = `http://127.0.0.1:${port}`;
  try {
    await untilHealthy(baseUrl, child);
    const token = options.init === undefined ? crypto.randomUUID() : undefined;
    const facts = token === undefined ? {} : { accessToken: token, defaultUser: options.passwd === null ? "root" : "user" };
    if (options.init !== "none") await initialise({ baseUrl, initKey: INIT_KEY }, facts);
    return { baseUrl, token, initKey: INIT_KEY, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** `/init` with the agent's key. */
export async function initialise(agent: Pick<AgentUnderTest, "baseUrl" | "initKey">, body: object): Promise<void> {
  const headers = { "X-Init-Key": agent.initKey ?? "" };
  const response = await fetch(`${agent.baseUrl}/init`, { method: "POST", headers, body: JSON.stringify(body) });
  if (response.status !== 204) throw new Error(`/init answered ${response.status}: ${await response.text()}`);
}

async function untilHealthy(baseUrl: string, child: Bun.Subprocess): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await Bun.sleep(10)) {
    if (child.exitCode !== null) throw new Error(`the agent left with ${child.exitCode}`);
    const response = await fetch(`${baseUrl}/health`).catch(() => undefined);
    if (response?.status === 204) return;
  }
  throw new Error("the agent did not answer within 10 s");
}

/** Directory and control groups of one agent. */
class Place {
  readonly directory = mkdtempSync(join(tmpdir(), "boxyard-agent-"));
  private readonly name = `by-test-${crypto.randomUUID().slice(0, 8)}`;
  private readonly cgroups: string[] = [];

  constructor(options: StartOptions) {
    mkdirSync(join(this.directory, "host"));
    writeFileSync(join(this.directory, "host/limits.json"), JSON.stringify(options.limits ?? {}));
    const unified = this.makeCgroup(isHybrid() ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup");
    const limits = [
      ...this.limit("pids", "pids.max", "pids.max", options.maxProcesses),
      ...this.limit("memory", "memory.limit_in_bytes", "memory.max", options.memoryBytes),
    ];
    const script = options.image
      ? imageScript(this.directory, unified, options.image)
      : bootScript(this.directory, unified, limits, options);
    writeFileSync(join(this.directory, "boot.sh"), script);
  }

  environment(port: number, options: StartOptions): Record<string, string> {
    const address = { BOXYARD_AGENT_HOST: "127.0.0.1", BOXYARD_AGENT_PORT: String(port) };
    if (options.image) return { ...address, ...AGENT_ENVIRONMENT };
    return {
      ...address,
      ...ENGINE_SETTINGS,
      BOXYARD_AGENT_LAUNCH: buildLaunch(),
      BOXYARD_AGENT_CGROUP_V1: join(this.directory, "v1"),
      BOXYARD_AGENT_HOST_DIR: join(this.directory, "host"),
      ...options.settings,
    };
  }

  async remove(): Promise<void> {
    rmSync(this.directory, { recursive: true, force: true });
    for (const path of this.cgroups) await removeCgroup(path);
  }

  private makeCgroup(parent: string): string {
    const path = join(parent, this.name);
    mkdirSync(path);
    this.cgroups.push(path);
    return path;
  }

  /** Lines of the boot script that enter a limited control group. */
  private limit(controller: string, v1File: string, v2File: string, value: number | undefined): string[] {
    if (value === undefined) return [];
    if (!isHybrid()) {
      writeFileSync(join("/sys/fs/cgroup", this.name, v2File), String(value));
      return [];
    }
    const path = this.makeCgroup(`/sys/fs/cgroup/${controller}`);
    writeFileSync(join(path, v1File), String(value));
    const bind = join(this.directory, "v1", controller);
    return [`echo 0 > ${path}/cgroup.procs`, `mkdir -p ${bind}`, `mount --bind ${path} ${bind}`];
  }
}

function isHybrid(): boolean {
  return readdirSync("/sys/fs/cgroup").includes("unified");
}

/** What PID 1 of the agent's namespaces does: the mounts of a sandbox as far as the agent sees them, then the agent. */
function bootScript(directory: string, unified: string, limits: readonly string[], options: StartOptions): string {
  const agent = options.executable ?? `${process.execPath} ${join(import.meta.dir, "../../../packages/agent/src/main.ts")}`;
  const file = (name: string, text: string | null | undefined, standard: string) =>
    text === null ? `rm -f /etc/${name}` : `printf '%s' '${text ?? standard}' > /etc/${name}`;
  const lines = [
    "set -e",
    "mount --make-rprivate /",
    ...limits,
    `echo 0 > ${unified}/cgroup.procs`,
    `mkdir ${unified}/user ${unified}/pty`,
    // A writable copy of /etc, so that nothing of the machine's own is touched.
    `mkdir ${directory}/etc-upper ${directory}/etc-work`,
    `mount -t overlay overlay -o lowerdir=/etc,upperdir=${directory}/etc-upper,workdir=${directory}/etc-work /etc`,
    file("passwd", options.passwd, PASSWD),
    file("group", options.group, GROUP),
    // Root's own start-up files on the machine are not tested. Those of a version manager take a tenth of a second for each shell.
    `touch ${directory}/empty`,
    `for f in .bash_profile .bash_login .profile; do [ ! -f /root/$f ] || mount --bind ${directory}/empty /root/$f; done`,
    "mount -t tmpfs tmpfs /home",
    "mount -t tmpfs -o mode=755 tmpfs /run",
    "mkdir /home/user /home/other && chown 1000:1000 /home/user && chown 1001:1001 /home/other",
    "mount -t proc proc /proc",
    `mount --bind ${unified} /sys/fs/cgroup`,
    options.prepare ?? "",
    options.prepareAlone ?? "",
    "cd /",
    // As in a sandbox, PID 1 takes the orphans; without it they would stay zombies.
    `exec ${buildInit()} -- ${agent} < /dev/null`,
  ];
  return `${lines.join("\n")}\n`;
}

/** The same for a root file system of its own: what a sandbox has mounted, and nothing of the machine. */
function imageScript(directory: string, unified: string, image: NonNullable<StartOptions["image"]>): string {
  const lines = [
    "set -e",
    "mount --make-rprivate /",
    `echo 0 > ${unified}/cgroup.procs`,
    `mkdir ${unified}/user ${unified}/pty`,
    `export ROOT=${directory}/root`,
    "mkdir -p $ROOT && mount -t tmpfs -o mode=755 tmpfs $ROOT",
    "cd $ROOT && mkdir -p .boxyard proc dev/pts sys/fs/cgroup tmp && chmod 1777 tmp",
    `mount --bind ${image.bundle} .boxyard`,
    "mount -t proc proc proc",
    "for d in null zero full random urandom tty; do touch dev/$d && mount --bind /dev/$d dev/$d; done",
    "mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts && ln -s pts/ptmx dev/ptmx",
    `mount --bind ${unified} sys/fs/cgroup`,
    image.fill,
    "exec chroot $ROOT /.boxyard/init -s -- /.boxyard/agent < /dev/null",
  ];
  return `${lines.join("\n")}\n`;
}

/** A control group with all below it, waiting until what was killed in it has gone. */
async function removeCgroup(path: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; ) {
    try {
      for (const entry of readdirSync(path, { withFileTypes: true })) if (entry.isDirectory()) await removeCgroup(join(path, entry.name));
      rmdirSync(path);
      return;
    } catch (error) {
      if ((error as { code?: string }).code === "ENOENT") return;
      await Bun.sleep(10);
    }
  }
  throw new Error(`${path} is still in use`);
}
