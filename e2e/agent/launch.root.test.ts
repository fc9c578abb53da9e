import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { buildLaunch } from "./support/launch.ts";
import { unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, run as runIn, shell, start } from "./support/run.ts";

interface Order {
  readonly texts: readonly string[];
  readonly file?: boolean;
  readonly descriptors?: number;
}

interface Result {
  readonly report: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
  /** How launch itself ended when its socket was closed. */
  readonly launchLeft: number;
}

/** The results of orders that one launch gets at once, from a Python program, so that the protocol is implemented twice. */
async function give(...orders: Order[]): Promise<Result[]> {
  const child = Bun.spawn(["python3", join(import.meta.dir, "support/give-orders.py"), buildLaunch()], {
    stdio: [Buffer.from(JSON.stringify(orders)), "pipe", "inherit"],
  });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** Texts of a command as root in /, by default without a cgroup. */
const order = (command: readonly string[], change: Partial<Record<"tty" | "cgroup" | "uid" | "gid" | "groups" | "cwd", string>> = {}) => {
  const { tty = "-", cgroup = "-", uid = "0", gid = "0", groups = "-", cwd = "/" } = change;
  return ["1", tty, cgroup, uid, gid, groups, cwd, String(command.length), ...command, "PATH=/usr/bin:/bin", "KEPT=yes"];
};

async function run(command: readonly string[], change?: Parameters<typeof order>[1]): Promise<Result & { readonly status: number }> {
  const [result] = await give({ texts: order(command, change) });
  if (!result) throw new Error("no result");
  return { ...result, status: Number(/^ended (\d+)$/.exec(result.report.at(-1) ?? "")?.[1]) };
}

describe("launch", () => {
  test("reports the pid, then the raw wait status, and leaves when the agent has gone", async () => {
    const exited = await run(["sh", "-c", "echo $$; exit 7"]);
    expect(exited.report).toEqual([`started ${exited.stdout.trim()}`, `ended ${7 << 8}`]);
    expect(exited.launchLeft).toBe(0);
    expect((await run(["sh", "-c", "kill -9 $$"])).status).toBe(9);
    expect((await run(["sh", "-c", "kill -15 $$"])).status).toBe(15);
  });

  test("sets user, group and the groups of the list, or none", async () => {
    const script = "id -u; id -g; id -G; grep ^Uid: /proc/self/status";
    const ids = await run(["sh", "-c", script], { uid: "1234", gid: "2345", groups: "2345,50,27" });
    expect(ids.stdout).toBe("1234\n2345\n2345 27 50\nUid:\t1234\t1234\t1234\t1234\n");
    expect((await run(["id", "-G"], { gid: "5" })).stdout).toBe("5\n");
  });

  test("a program has no descriptor above 2, its own environment, default signals, and the directory asked for", async () => {
    const result = await run(["sh", "-c", "ls /proc/self/fd; pwd; echo $KEPT; env | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status"], {
      cwd: "/usr",
    });
    // Beside the two that were given a shell sets PWD.
    expect(result.stdout).toBe("0\n1\n2\n3\n/usr\nyes\n3\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
  });

  test("what can't be executed is 127 or 126, with words on standard error", async () => {
    const missing = await run(["nothing-here"]);
    expect([missing.status, missing.stderr]).toEqual([127 << 8, "nothing-here: command not found\n"]);
    const absolute = await run(["/no/such"]);
    expect([absolute.status, absolute.stderr]).toEqual([127 << 8, "/no/such: command not found\n"]);
    expect((await run(["/etc/passwd"])).status).toBe(126 << 8);
    expect((await run(["/tmp"])).status).toBe(126 << 8);
    const script = `/tmp/boxyard-launch-${crypto.randomUUID()}`;
    await Bun.write(script, "#!/no/such/interpreter\n");
    Bun.spawnSync(["chmod", "755", script]);
    const orphan = await run([script]);
    expect([orphan.status, orphan.stderr]).toEqual([127 << 8, `${script}: its interpreter is missing in this sandbox\n`]);
    await Bun.file(script).delete();
  });

  test("what it can't do is reported instead of a pid, with the errno", async () => {
    expect((await run(["true"], { cgroup: "/no/such/cgroup" })).report).toEqual(["failed cgroup 2"]);
    expect((await run(["true"], { cgroup: "/etc" })).report).toEqual(["failed clone 9"]);
    expect((await run(["true"], { cwd: "/no/such" })).report).toEqual(["failed cwd 2"]);
    expect((await run(["true"], { cwd: "/root", uid: "1234", gid: "1234" })).report).toEqual(["failed cwd 13"]);
    expect((await run(["true"], { tty: "t" })).report).toEqual(["failed tty 25"]);
    const [tooLong] = await give({ texts: order(["true", "x".repeat(200_000)]), file: true });
    expect(tooLong?.report).toEqual(["failed exec 7"]);
  });

  test("an order that makes no sense is refused, and the next one is served", async () => {
    const groups = Array.from({ length: 1025 }, (_, i) => i).join(",");
    const bad: (readonly string[])[] = [
      ["1"],
      ["1", "-", "-", "0", "0", "-", "/"],
      ["1", "-", "-", "0", "0", "-", "/", "1"],
      ["1", "-", "-", "0", "0", "-", "/", "0", "true"],
      ["1", "-", "-", "0", "0", "-", "/", "2", "true"],
      order(["true"], { uid: "x" }),
      order(["true"], { uid: "-1" }),
      order(["true"], { gid: "4294967295" }),
      order(["true"], { gid: "99999999999999999999" }),
      order(["true"], { groups: "1," }),
      order(["true"], { groups: "1 2" }),
      order(["true"], { groups: "" }),
      order(["true"], { groups }),
    ];
    const numbered = (texts: readonly string[], id: number) => [String(id), ...texts.slice(1)];
    const orders = bad.map((texts, i) => ({ texts: numbered(texts, i + 1) }));
    const unfit = { texts: numbered(order(["true"]), 98), descriptors: 2 };
    const results = await give(...orders, unfit, { texts: numbered(order(["echo", "here"]), 99) });
    expect(results.slice(0, bad.length).map(({ report }) => report)).toEqual(bad.map(() => ["failed order 22"]));
    expect(results.at(-2)?.report).toEqual(["failed order 9"]);
    expect(results.at(-1)?.stdout).toBe("here\n");
  });

  test("texts that are too long for a packet come in a file", async () => {
    const words = Array.from({ length: 3000 }, (_, i) => `word-${i}-${"x".repeat(100)}`);
    const [result] = await give({ texts: order(["sh", "-c", 'echo $#; echo "$KEPT"', "sh", ...words]), file: true });
    expect(result?.stdout).toBe("3000\nyes\n");
  });

  test("many commands at once, each with its own end; a slow one holds up none", async () => {
    const many = Array.from({ length: 200 }, (_, i) => [String(i + 1), ...order(["sh", "-c", `exit ${i % 100}`]).slice(1)]);
    // Time alone: the others end meanwhile.
    const slow = ["slow", ...order(["sh", "-c", "sleep 0.5; exit 3"]).slice(1)];
    const results = await give({ texts: slow }, ...many.map((texts) => ({ texts })));
    expect(results[0]?.report.at(-1)).toBe(`ended ${3 << 8}`);
    expect(results.slice(1).map(({ report }) => report.at(-1))).toEqual(many.map((_, i) => `ended ${(i % 100) << 8}`));
  });

  test("a command is in its cgroup from its first instruction on", async () => {
    const root = existsSync("/sys/fs/cgroup/unified") ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
    const cgroup = `${root}/by-test-${crypto.randomUUID().slice(0, 8)}`;
    Bun.spawnSync(["mkdir", cgroup]);
    try {
      const { stdout } = await run(["cat", "/proc/self/cgroup"], { cgroup });
      expect(stdout).toContain(`0::${cgroup.slice(root.length)}\n`);
      expect(readFileSync(`${cgroup}/cgroup.procs`, "utf8")).toBe("");
    } finally {
      Bun.spawnSync(["rmdir", cgroup]);
    }
  });
});

describe("launch and the agent", () => {
  test("the end of launch ends all its commands, and the next command finds a new launch", async () => {
    const agent = await startAgent();
    try {
      // Its pid, seen from a command: the parent.
      const open = await start(agent, shell("echo $PPID; sleep 1171 & exec sleep 1172"));
      const launch = (await readUntil(open, ({ stdout }) => stdout.endsWith("\n"))).stdout.trim();
      expect((await runIn(agent, `cat /proc/${launch}/comm`)).stdout).toStartWith("launch");
      const killer = await runIn(agent, `kill -9 ${launch}`, { user: "root" });
      expect(killer.end.status).toBe("signal: killed");
      expect((await collect(open)).end).toEqual({ exitCode: -1, status: "signal: killed", error: "signal: killed" });
      const next = await runIn(agent, "pgrep -f '^sleep 117[12]' || echo none; echo $PPID");
      const [left, parent] = next.stdout.trim().split("\n");
      expect(left).toBe("none");
      expect(parent).not.toBe(launch);
    } finally {
      await agent.stop();
    }
  });

  testAlone("a command that a launch was about to start when it was killed does not run", async () => {
    const agent = await startAgent();
    try {
      // A command in a frozen group has been forked, and does nothing yet.
      const script = `launch=$PPID; echo $$ > /sys/fs/cgroup/cgroup.procs; echo 1 > /sys/fs/cgroup/user/cgroup.freeze; echo frozen
        until pgrep -P $launch | grep -qvx $$; do sleep 0.02; done; kill -9 $launch; echo 0 > /sys/fs/cgroup/user/cgroup.freeze`;
      const killer = await start(agent, shell(script), { user: "root" });
      await readUntil(killer, ({ stdout }) => stdout === "frozen\n");
      const { error } = await collect(await start(agent, { process: { cmd: "sleep", args: ["1173"] }, stdin: false }));
      expect(error?.code).toBe("internal");
      expect((await runIn(agent, "for i in $(seq 100); do pgrep -f '^sleep 1173' || exit 7; sleep 0.05; done")).end.exitCode).toBe(7);
    } finally {
      await agent.stop();
    }
  });

  testAlone("a pipe in the place of /dev/null holds up nobody", async () => {
    const agent = await startAgent();
    try {
      const replace = { process: { cmd: "sh", args: ["-c", "mkfifo /run/null && mount --bind /run/null /dev/null"] }, stdin: true };
      expect((await collect(await start(agent, replace, { user: "root" }))).end.status).toBe("exit status 0");
      expect((await collect(await start(agent, { process: { cmd: "cat" }, stdin: false }))).end.status).toBe("exit status 0");
    } finally {
      await agent.stop();
    }
  });

  test("orders wait for a launch that is behind", async () => {
    const agent = await startAgent();
    try {
      // Time alone: the launch has answered for it before, and stands still while the orders come.
      const stopper = await start(agent, shell("sleep 0.1; kill -STOP $PPID; echo stopped; sleep 0.5; kill -CONT $PPID"), { user: "root" });
      await readUntil(stopper, ({ stdout }) => stdout === "stopped\n");
      const envs = { LONG: "x".repeat(30_000) };
      const starts = Array.from({ length: 30 }, async () => collect(await start(agent, { process: { cmd: "/bin/true", envs } })));
      for (const { end } of await Promise.all(starts)) expect(end.status).toBe("exit status 0");
    } finally {
      await agent.stop();
    }
  });

  test("a command that a stopped launch does not start has its deadline anyway, and does not outlive it", async () => {
    const agent = await startAgent();
    try {
      // Time alone: the launch has answered for it before.
      const script = "sleep 0.1; kill -STOP $PPID; echo stopped; until [ -e go ]; do sleep 0.02; done; kill -CONT $PPID";
      const stopper = await start(agent, shell(script, { cwd: "/home/user" }), { user: "root" });
      await readUntil(stopper, ({ stdout }) => stdout === "stopped\n");
      const late = await start(agent, { process: { cmd: "sleep", args: ["1176"] }, stdin: false }, { timeoutMs: 200 });
      expect((await collect(late)).error?.code).toBe("deadline_exceeded");
      await unary(agent, "filesystem.Filesystem/MakeDir", { path: "/home/user/go" });
      expect((await collect(stopper)).end.status).toBe("exit status 0");
      expect((await runIn(agent, "for i in $(seq 100); do pgrep -f '^sleep 1176' || exit 7; sleep 0.05; done")).end.exitCode).toBe(7);
    } finally {
      await agent.stop();
    }
  });

  test("launch stays small: an order that the kernel would refuse never reaches it", async () => {
    const agent = await startAgent();
    try {
      const words = Array.from({ length: 200 }, () => "x".repeat(100_000));
      expect((await collect(await start(agent, { process: { cmd: "/bin/true", args: words } }))).error?.code).toBe("invalid_argument");
      const { stdout } = await runIn(agent, "sed -n 's/^VmHWM:[[:space:]]*//p' /proc/$PPID/status", { user: "root" });
      expect(Number.parseInt(stdout, 10)).toBeLessThan(8_000);
    } finally {
      await agent.stop();
    }
  });

  /** So many may the agent's launch have; its own are four. */
  const limitDescriptors = (agent: AgentUnderTest, count: number) =>
    runIn(agent, `prlimit --pid $PPID --nofile=${count}:`, { user: "root" });

  test("an order whose texts launch has no descriptor for is refused", async () => {
    const agent = await startAgent();
    try {
      await limitDescriptors(agent, 7);
      const long = { process: { cmd: "/bin/true", envs: { LONG: "x".repeat(40_000) } } };
      expect((await collect(await start(agent, long))).error?.code).toBe("resource_exhausted");
    } finally {
      await agent.stop();
    }
  });

  test("more commands run than launch may have descriptors", async () => {
    const agent = await startAgent();
    try {
      await limitDescriptors(agent, 20);
      const waiting = [];
      for (let i = 0; i < 30; i++) {
        const open = await start(agent, { process: { cmd: "sh", args: ["-c", "until [ -e /run/go ]; do sleep 0.2; done; exit 5"] } });
        await firstPid(open);
        waiting.push(open);
      }
      await runIn(agent, "touch /run/go", { user: "root" });
      for (const open of waiting) expect((await collect(open)).end.exitCode).toBe(5);
    } finally {
      await agent.stop();
    }
  });

  test("a thousand commands are forked by one launch, which keeps no descriptor of theirs", async () => {
    const agent = await startAgent();
    try {
      const descriptors = async () => (await runIn(agent, "ls /proc/$PPID/fd | wc -l; echo $PPID", { user: "root" })).stdout.trim();
      const before = await descriptors();
      for (let round = 0; round < 20; round++)
        await Promise.all(Array.from({ length: 50 }, async () => collect(await start(agent, { process: { cmd: "/bin/true" } }))));
      expect(await descriptors()).toBe(before);
    } finally {
      await agent.stop();
    }
  });
});
