import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../../cgroup/hierarchies.ts";
import { buildHelper } from "../../testing/build-helper.ts";
import { AT_FDCWD, O } from "../libc.ts";
import { ChildProgram, ForkServer } from "./index.ts";

const BUILDS = { plain: buildHelper("fork-server"), sanitized: buildHelper("fork-server", { sanitized: true }) };
const isRoot = process.getuid?.() === 0;
const work = mkdtempSync(join(tmpdir(), "boxyard-fork-server-"));
const open: ForkServer[] = [];

function fresh(file = BUILDS.plain): ForkServer {
  const server = new ForkServer(file);
  open.push(server);
  return server;
}

afterEach(() => {
  for (const server of open.splice(0)) server.close();
});
afterAll(() => rmSync(work, { recursive: true }));

function shell(script: string, env: Readonly<Record<string, string>> = { PATH: "/usr/bin:/bin" }): ChildProgram {
  const program = new ChildProgram();
  program.execute("/bin/sh", ["-c", script], env);
  return program;
}

let files = 0;
/** Runs the script and returns its output. */
async function output(server: ForkServer, script: string): Promise<string> {
  const file = join(work, `output-${++files}`);
  expect(await server.run(shell(`{ ${script}; } >${file} 2>&1`))).toBe(0);
  return readFileSync(file, "utf8");
}

const hasEnded = (pid: number): boolean => {
  try {
    return /\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return true;
  }
};
const childrenOf = (pid: number) => readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);

describe.each(Object.entries(BUILDS))("%s", (_name, file) => {
  test("steps run in order, and use the results of earlier steps and the memory that these wrote", async () => {
    const server = fresh(file);
    const target = join(work, `steps-${++files}`);
    const program = new ChildProgram();
    const pipe = program.pipe();
    const text = new TextEncoder().encode("through a pipe");
    program.call("write", [pipe.write, text, text.byteLength]);
    const buffer = new Uint8Array(64);
    const length = program.call("read", [pipe.read, buffer, buffer.byteLength]);
    const out = program.call("openat", [AT_FDCWD, target, O.WRONLY | O.CREAT | O.CLOEXEC, 0o600]);
    program.call("write", [out, buffer, length]);
    const stored = new BigUint64Array(2);
    program.store(stored, 1, length);
    program.call("write", [out, stored, stored.byteLength]);
    expect(await server.run(program)).toBe(0);
    const bytes = readFileSync(target);
    expect(bytes.subarray(0, text.length).toString()).toBe("through a pipe");
    expect(bytes.readBigUInt64LE(text.length + 8)).toBe(BigInt(text.length));
    // The child wrote to its own copy of the memory.
    expect(buffer[0]).toBe(0);
  });

  test("the first step that fails is named, and nothing after it runs", async () => {
    const server = fresh(file);
    const program = new ChildProgram();
    program.call("openat", [AT_FDCWD, "/no/such", O.RDONLY, 0], "/no/such");
    program.call("kill", [process.pid, 9]);
    const error = await server.run(program).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "ENOENT", message: "openat /no/such: ENOENT" });
    const missing = new ChildProgram();
    missing.execute("/no/such/program", [], {});
    expect(await server.run(missing).catch(String)).toContain("execve /no/such/program: ENOENT");
    expect(await server.run(shell("exit 0"), { cgroup: "/no/such/cgroup" }).catch(String)).toContain("open the cgroup: ENOENT");
  });

  test("a program gets only its environment, and its exit code is returned", async () => {
    const server = fresh(file);
    expect(await server.run(shell('[ "$A" = "b c" ] && [ -z "$HOME" ] && exit 7', { A: "b c" }))).toBe(7);
    expect(await server.run(shell("kill -9 $$"))).toBe(137);
    expect(await server.run(shell("kill -15 $$; exit 0"))).toBe(143);
  });

  test("a program has standard streams on /dev/null, default signals and no other descriptor", async () => {
    const server = fresh(file);
    expect(await output(server, "exec ls /proc/self/fd </dev/null | grep -v '^3$'")).toBe("0\n1\n2\n");
    expect(await output(server, "readlink /proc/$$/fd/0")).toBe("/dev/null\n");
    expect(await output(server, "umask; pwd")).toBe("0022\n/\n");
    // Not read by the shell itself, which sometimes blocks signals.
    for (const line of ["SigBlk", "SigIgn"])
      expect(await server.run(shell(`exec grep -q '^${line}:.0000000000000000' /proc/self/status`))).toBe(0);
  });

  test("each of a hundred concurrent programs gets its own result, and no child is left", async () => {
    const server = fresh(file);
    const ours = Array.from({ length: 100 }, (_, i) => server.run(shell(`exit ${i}`)));
    expect(await Promise.all(ours)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(childrenOf(server.pid as number)).toEqual([]);
  });

  test("a long order is accepted, an order above the limit is refused", async () => {
    const server = fresh(file);
    const long = Array.from({ length: 2_000 }, (_, i) => `${i} ${"x".repeat(500)}`);
    const program = new ChildProgram();
    program.execute("/bin/sh", ["-c", "[ $# = 2000 ]", "sh", ...long], {});
    expect(await server.run(program)).toBe(0);
    const tooLong = new ChildProgram();
    tooLong.execute("/bin/true", ["x".repeat(5 << 20)], {});
    const { pid } = server;
    expect(await server.run(tooLong).catch((e: unknown) => e)).toMatchObject({ code: "E2BIG" });
    expect([await server.run(shell("exit 3")), server.pid]).toEqual([3, pid]);
  });

  test.if(isRoot)("a user namespace has the given map, and the process that made it has ended", async () => {
    const server = fresh(file);
    const program = new ChildProgram();
    const namespace = program.userNamespace("0 268435456 65536");
    program.call("setns", [namespace, 0x1000_0000]);
    program.execute(
      "/bin/sh",
      ["-c", `cat /proc/self/uid_map /proc/self/gid_map >/proc/self/fd/1; [ "$(tr -s ' ' </proc/self/gid_map)" = " 0 268435456 65536" ]`],
      {
        PATH: "/usr/bin:/bin",
      },
    );
    expect(await server.run(program)).toBe(0);
    await eventually("no children", () => childrenOf(server.pid as number).length === 0);
  });

  test.if(isRoot)("a parked child runs its first program ahead, and the second one in the given cgroup", async () => {
    const server = fresh(file);
    const cgroup = join(findHierarchies().unified, `boxyard-test-${process.pid}`);
    mkdirSync(cgroup);
    try {
      const first = new ChildProgram();
      first.call("setsid", []);
      const child = server.park(first);
      await eventually("a parked child", () => child.isReady());
      const target = join(work, `parked-${++files}`);
      expect(await child.goOn(shell(`cat /proc/self/cgroup >${target}; ls /proc/self/fd >>${target}; exit 5`), cgroup)).toBe(5);
      expect(readFileSync(target, "utf8")).toMatch(new RegExp(`^0::/boxyard-test-${process.pid}$`, "m"));
      expect(readFileSync(target, "utf8")).toEndWith("\n0\n1\n2\n3\n");
      expect([child.isReady(), child.isGone()]).toEqual([false, true]);

      const refused = server.park(new ChildProgram());
      await eventually("a parked child", () => refused.isReady());
      expect(await refused.goOn(shell("exit 0"), "/no/such/cgroup").catch(String)).toContain("open the cgroup: ENOENT");

      expect(await server.run(shell(`grep -q '^0::/boxyard-test-' /proc/self/cgroup`), { cgroup })).toBe(0);
    } finally {
      await eventually("no children", () => childrenOf(server.pid as number).length === 0);
      rmdirSync(cgroup);
    }
  });

  test("a parked child can be discarded, and one that fails is never ready", async () => {
    const server = fresh(file);
    const unused = server.park(new ChildProgram());
    await eventually("a parked child", () => unused.isReady());
    await unused.discard();
    await unused.discard();
    expect(unused.isGone()).toBe(true);
    const program = new ChildProgram();
    program.call("openat", [AT_FDCWD, "/no/such", O.RDONLY, 0], "/no/such");
    const failing = server.park(program);
    await eventually("its failure", () => failing.isGone());
    expect(failing.isReady()).toBe(false);
    await failing.discard();
    expect(childrenOf(server.pid as number)).toEqual([]);
  });
});

test("when the helper is killed, pending orders fail and can be retried; running programs go on", async () => {
  let ends = 0;
  const server = new ForkServer(BUILDS.plain, () => ends++);
  open.push(server);
  const first = server.pid as number;
  const parked = server.park(new ChildProgram());
  await eventually("a parked child", () => parked.isReady());
  const file = join(work, "outlives");
  const running = server.run(shell(`echo $$ >${file}; exec sleep 100`)).catch((e: unknown) => e);
  await eventually("the program", () => readFileSync(file, "utf8").endsWith("\n"));
  const program = Number(readFileSync(file, "utf8"));
  const [waiting] = childrenOf(first).filter((pid) => pid !== program) as [number];
  process.kill(first, "SIGKILL");
  expect(await running).toMatchObject({ code: "unavailable", reason: "fork_server_ended" });
  await eventually("the end of the parked child", () => hasEnded(waiting));
  expect([parked.isReady(), parked.isGone()]).toEqual([false, true]);
  expect(hasEnded(program)).toBe(false);
  process.kill(program, "SIGKILL");
  expect(await server.run(shell("exit 4"))).toBe(4);
  expect(server.pid).not.toBe(first);
  server.close();
  expect(ends).toBe(1);
});

test("an order that comes right after the helper's end goes to a new one", async () => {
  const server = fresh();
  for (let i = 0; i < 5; i++) {
    const { pid } = server;
    process.kill(pid as number, "SIGKILL");
    // A busy loop, so that this thread does not notice the end before the order.
    while (!hasEnded(pid as number));
    expect(await server.run(shell("exit 6"))).toBe(6);
  }
});

test("when the helper ends, an order with `onStarted` fails only after its child has ended", async () => {
  const server = fresh();
  const started = Promise.withResolvers<void>();
  const file = join(work, "known");
  // Time alone: the helper is killed meanwhile.
  const running = server.run(shell(`sleep 0.3; echo done >${file}`), { onStarted: () => started.resolve() }).catch((e: unknown) => e);
  await started.promise;
  process.kill(server.pid as number, "SIGKILL");
  expect(await running).toMatchObject({ reason: "fork_server_ended" });
  expect(readFileSync(file, "utf8")).toBe("done\n");
});

test("a child can be killed through `onStarted`", async () => {
  const server = fresh();
  expect(await server.run(shell("exec sleep 100"), { onStarted: (child) => child.kill() })).toBe(137);
});

test("the helper ignores signals, leads a session of its own, and keeps the server's oom_score_adj", async () => {
  const server = fresh();
  expect(await server.run(shell("exit 0"))).toBe(0);
  const { pid } = server;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE", "SIGUSR1"] as const) process.kill(pid as number, signal);
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  expect(stat).toStartWith(`${pid} (fork-server)`);
  expect(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[3]).toBe(String(pid));
  expect(readFileSync(`/proc/${pid}/oom_score_adj`, "utf8")).toBe(readFileSync("/proc/self/oom_score_adj", "utf8"));
  expect(readFileSync(`/proc/${pid}/environ`, "utf8")).toBe("");
});

test.each(["runs", "is stopped"])(
  "a helper that %s ends with the server, parked children too, and has no descriptor of the server",
  async (how) => {
    const script = `
    import { ChildProgram, ForkServer } from ${JSON.stringify(join(import.meta.dir, "index.ts"))};
    const listening = Bun.serve({ port: 0, fetch: () => new Response() });
    const server = new ForkServer(${JSON.stringify(BUILDS.plain)});
    const parked = server.park(new ChildProgram());
    while (!parked.isReady()) await Bun.sleep(1);
    console.log(server.pid);
    await new Promise(() => {});`;
    const parent = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stdin: "ignore" });
    const reader = parent.stdout.getReader();
    const { value } = await reader.read();
    const pid = Number(new TextDecoder().decode(value));
    const [parked] = childrenOf(pid) as [number];
    const links = (of: number) => readdirSync(`/proc/${of}/fd`).map((fd) => readlinkSync(`/proc/${of}/fd/${fd}`).replace(/\d+/, ""));
    const nothing = ["/dev/null", "/dev/null", "/dev/null"];
    expect(links(pid).sort()).toEqual([...nothing, "anon_inode:[signalfd]", "socket:[]", "socket:[]"]);
    expect(links(parked).sort()).toEqual([...nothing, "socket:[]"]);
    if (how === "is stopped") process.kill(pid, "SIGSTOP");
    parent.kill("SIGKILL");
    await parent.exited;
    await eventually("the end of both", () => hasEnded(pid) && hasEnded(parked));
  },
);

test("the CPU time of children is counted", async () => {
  const server = fresh();
  const before = server.cpuMs();
  await server.run(shell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"));
  expect(server.cpuMs() - before).toBeGreaterThan(1);
});

test("close ends a stopped helper, programs go on, and orders are refused; a missing helper's error names the fix", async () => {
  const server = fresh();
  const { pid } = server;
  const file = join(work, "goes-on");
  const running = server.run(shell(`echo $$ >${file}; exec sleep 100`)).catch((e: unknown) => e);
  await eventually("the program", () => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"));
  const program = Number(readFileSync(file, "utf8"));
  process.kill(pid as number, "SIGSTOP");
  server.close();
  server.close();
  await eventually("the end of the helper", () => hasEnded(pid as number));
  expect(await running).toMatchObject({ reason: "fork_server_ended" });
  expect(hasEnded(program)).toBe(false);
  process.kill(program, "SIGKILL");
  expect(await server.run(shell("exit 0")).catch((e: unknown) => e)).toMatchObject({ reason: "driver_closed" });
  expect(() => new ForkServer(join(work, "none"))).toThrow("run 'boxyard setup'");
});

test("a closed fork server leaves no socket or pipe in this process", async () => {
  const links = () => readdirSync("/proc/self/fd").flatMap((fd) => linkOf(fd) ?? []);
  const use = async () => {
    const server = new ForkServer(BUILDS.plain);
    expect(await server.run(shell("exit 0"))).toBe(0);
    server.close();
  };
  // First, because the engine opens some descriptors once. Links are compared, not counted: descriptors of earlier tests may close at any moment.
  await use();
  const before = new Set(links());
  await use();
  const added = () => links().filter((link) => !before.has(link));
  await eventually("no new socket or pipe", () => added().filter((link) => /^(socket|pipe):/.test(link)).length === 0);
});

/** Undefined when the descriptor was closed meanwhile, like the one that read the directory. */
function linkOf(fd: string): string | undefined {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return undefined;
  }
}
