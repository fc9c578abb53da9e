import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent, testAlone } from "./support/agent-under-test.ts";
import { unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const sortedGroups = "id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '";

describe("Start: events", () => {
  test("first event is start, then data, then end, then end-of-stream", async () => {
    const result = await run(agent, "echo out; echo err >&2");
    expect(result.order).toEqual(["start", "data", "end"]);
    expect(result.pid).toBeGreaterThan(0);
    expect([result.stdout, result.stderr]).toEqual(["out\n", "err\n"]);
    expect(result.end).toEqual({ exited: true, status: "exit status 0" });
    expect(result.error).toBeUndefined();
  });

  test("start comes at once, before the process says anything", async () => {
    const open = await start(agent, shell("sleep 1000"));
    const pid = await firstPid(open);
    expect(pid).toBeGreaterThan(0);
    await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await collect(open);
  });

  test("exitCode is the code, exited true, error the same text as status", async () => {
    const result = await run(agent, "exit 3");
    expect(result.end).toEqual({ exitCode: 3, exited: true, status: "exit status 3", error: "exit status 3" });
  });

  test("an end by signal is exitCode -1, exited absent, status 'signal: …'", async () => {
    const killed = await run(agent, "kill -9 $$");
    expect(killed.end).toEqual({ exitCode: -1, status: "signal: killed", error: "signal: killed" });
    const terminated = await run(agent, "kill -15 $$");
    expect(terminated.end).toEqual({ exitCode: -1, status: "signal: terminated", error: "signal: terminated" });
  });

  test("output chunks hold at most 32 KiB and all of the output arrives, binary safe", async () => {
    const open = await start(agent, {
      process: {
        cmd: "/bin/sh",
        args: ["-c", "head -c 3000000 /dev/urandom | tee /tmp/agent-random; sha256sum < /tmp/agent-random >&2; rm /tmp/agent-random"],
      },
    });
    const hash = new Bun.CryptoHasher("sha256");
    let largest = 0;
    let stderr = "";
    for await (const { message } of open.envelopes) {
      const data = message.event?.data;
      if (data?.stderr) stderr += Buffer.from(data.stderr, "base64").toString();
      if (!data?.stdout) continue;
      const bytes = Buffer.from(data.stdout, "base64");
      largest = Math.max(largest, bytes.length);
      hash.update(bytes);
    }
    expect(largest).toBeLessThanOrEqual(32 * 1024);
    expect(stderr).toBe(`${hash.digest("hex")}  -\n`);
  });
});

describe("Start: who and where", () => {
  test("the process runs as the given user with supplementary groups", async () => {
    const groups = "{ id -g; grep ':.*[:,]user\\(,\\|$\\)' /etc/group | cut -d: -f3; } | sort -nu | tr '\\n' ' '";
    const { stdout } = await run(agent, `id -u; ${groups}; echo; ${sortedGroups}`, { user: "user" });
    const [uid, listed, actual] = stdout.split("\n");
    expect([uid, actual]).toEqual(["1000", listed]);
    expect((await run(agent, "id -u; id -G", { user: "root" })).stdout).toStartWith("0\n0");
  });

  test("no Basic: the default user of /init", async () => {
    expect((await run(agent, "id -un")).stdout).toBe("user\n");
  });

  test("an unknown user is unauthenticated: invalid username", async () => {
    const result = await run(agent, "true", { user: "nobody-here" });
    expect(result.error).toEqual({ code: "unauthenticated", message: "invalid username: 'nobody-here'" });
  });

  test("the password of Basic is ignored", async () => {
    const result = await run(agent, "id -un", { headers: { Authorization: `Basic ${btoa("root:secret")}` } });
    expect(result.stdout).toBe("root\n");
  });

  test("cwd: given, relative to the home, ~, default home", async () => {
    const pwd = async (cwd?: string) => (await collect(await start(agent, shell("pwd", cwd === undefined ? {} : { cwd })))).stdout;
    expect(await pwd("/tmp")).toBe("/tmp\n");
    expect(await pwd()).toBe("/home/user\n");
    expect(await pwd("~")).toBe("/home/user\n");
    await run(agent, "mkdir -p ~/sub/dir");
    expect(await pwd("sub/dir")).toBe("/home/user/sub/dir\n");
    expect(await pwd("~/sub")).toBe("/home/user/sub\n");
  });

  test("cwd that does not exist is invalid_argument", async () => {
    const result = await collect(await start(agent, shell("pwd", { cwd: "/no/such" })));
    expect(result.error).toEqual({ code: "invalid_argument", message: "cwd '/no/such' does not exist" });
  });

  test("cwd that is a file, is ~other, or can't be entered is invalid_argument", async () => {
    for (const cwd of ["/etc/passwd", "~other", "/root"]) {
      const result = await collect(await start(agent, shell("pwd", { cwd }), { user: "user" }));
      expect(result.error?.code).toBe("invalid_argument");
      expect(result.order).toEqual([]);
    }
  });

  test("a missing binary is exit code 127 with text on stderr, not an RPC error", async () => {
    const result = await collect(await start(agent, { process: { cmd: "no-such-program" } }));
    expect(result.order).toEqual(["start", "data", "end"]);
    expect(result.end).toEqual({ exitCode: 127, exited: true, status: "exit status 127", error: "exit status 127" });
    expect(result.stderr).toContain("no-such-program: command not found");
  });

  test("a file that is not executable is exit code 126", async () => {
    const result = await collect(await start(agent, { process: { cmd: "/etc/passwd" } }));
    expect(result.end.exitCode).toBe(126);
    expect(result.stderr).toContain("/etc/passwd");
  });

  test("arguments are passed verbatim, without a shell", async () => {
    const args = ["$HOME", "a b", "", "*", "'\"", "line\nbreak", "ü"];
    const result = await collect(await start(agent, { process: { cmd: "printf", args: ["[%s]", ...args] } }));
    expect(result.stdout).toBe(args.map((arg) => `[${arg}]`).join(""));
  });

  test("a script without #! runs in sh", async () => {
    await run(agent, "printf 'echo from-script $1' > ~/plain; chmod +x ~/plain");
    const result = await collect(await start(agent, { process: { cmd: "/home/user/plain", args: ["x"] } }));
    expect(result.stdout).toBe("from-script x\n");
  });
});

describe("Start: environment", () => {
  test("PATH, HOME, USER, LOGNAME and the sandbox's own; nothing of the agent's", async () => {
    const { stdout } = await collect(await start(agent, { process: { cmd: "env" } }));
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0])
      .sort();
    // A sandbox of the platform has its ids and its template's variables too.
    const always = ["E2B_SANDBOX", "HOME", "LOGNAME", "PATH", "USER"];
    expect(names).toEqual(expect.arrayContaining(always));
    expect(names.filter((name) => /^(LD_|BOXYARD|BUN|PWD|SHLVL|OLDPWD|TERM)/.test(name ?? ""))).toEqual([]);
    expect(stdout).toContain("HOME=/home/user\n");
    expect(stdout).toContain("USER=user\n");
    expect(stdout).toContain("E2B_SANDBOX=true\n");
  });

  test("request envs override everything", async () => {
    const envs = { PATH: "/x:/usr/bin:/bin", HOME: "/tmp", E2B_SANDBOX: "mine", EMPTY: "", "odd.name": "1" };
    const { stdout } = await collect(await start(agent, { process: { cmd: "/usr/bin/env", envs } }));
    for (const [name, value] of Object.entries(envs)) expect(stdout).toContain(`${name}=${value}\n`);
  });

  test("a name or value that no environment can hold is invalid_argument", async () => {
    for (const envs of [{ "": "x" }, { "a=b": "x" }, { a: "\0" }]) {
      const result = await collect(await start(agent, { process: { cmd: "env", envs: envs as unknown as Record<string, string> } }));
      expect(result.error?.code).toBe("invalid_argument");
    }
  });

  test("a NUL in the command line and an empty command are invalid_argument", async () => {
    for (const process of [{ cmd: "echo\0" }, { cmd: "echo", args: ["\0"] }, { cmd: "" }]) {
      expect((await collect(await start(agent, { process }))).error?.code).toBe("invalid_argument");
    }
  });
});

describe("Start: what the process is", () => {
  test("oom_score_adj is 100 above the agent's, signals are at their defaults, umask 022", async () => {
    const { stdout } = await run(
      agent,
      "agent=$(cut -d ' ' -f 4 /proc/$PPID/stat); echo $(($(cat /proc/self/oom_score_adj) - $(cat /proc/$agent/oom_score_adj))); umask; awk '/^Sig(Blk|Ign)/ {print $2}' /proc/self/status",
    );
    expect(stdout).toBe("100\n0022\n0000000000000000\n0000000000000000\n");
  });

  test("it has standard input, output and error as pipes that can be opened again, and no other descriptor", async () => {
    // The fourth is the directory that ls itself has open.
    expect((await collect(await start(agent, { process: { cmd: "ls", args: ["/proc/self/fd"] } }))).stdout).toBe("0\n1\n2\n3\n");
    const { stdout, stderr } = await run(agent, "echo again > /dev/stdout; echo again > /dev/stderr");
    expect([stdout, stderr]).toEqual(["again\n", "again\n"]);
  });

  test("it leads a process group of its own, so that kill 0 does not reach the agent", async () => {
    expect((await run(agent, "kill -9 0", { user: "root" })).end.status).toBe("signal: killed");
    expect((await run(agent, "echo alive")).stdout).toBe("alive\n");
  });

  test("each command is in a cgroup of its own below user, from its first instruction on, and the cgroup goes with it", async () => {
    const script = "grep ^0:: /proc/self/cgroup";
    const [first, second] = [(await run(agent, script)).stdout, (await run(agent, script)).stdout];
    expect(first).toMatch(/\/user\/\d+\n$/);
    expect(second).not.toBe(first);
    // Readers hear of the end before the group is removed.
    const groups = async () => (await run(agent, "ls -d /sys/fs/cgroup/user/*/ | wc -l", { user: "root" })).stdout.trim();
    await eventually("only the group of the command that counts is left", async () => (await groups()) === "1");
  });

  test("control groups that a command made in its own go with it", async () => {
    const nested =
      "group=/sys/fs/cgroup$(sed -n s/^0::.*user/\\\\/user/p /proc/self/cgroup); mkdir -p $group/a/b $group/c; echo $group; ls -d $group/a/b";
    const { stdout } = await run(agent, nested, { user: "root" });
    const [group, inner] = stdout.split("\n");
    expect(inner).toBe(`${group}/a/b`);
    const look = async () => (await run(agent, `test -e ${group} || echo gone`, { user: "root" })).stdout;
    await eventually("the group is gone", async () => (await look()) === "gone\n");
  });

  test("a subtree of control groups that root has removed comes back with the next command", async () => {
    await run(agent, "rmdir /sys/fs/cgroup/pty", { user: "root" });
    const order = { process: { cmd: "cat", args: ["/proc/self/cgroup"] }, pty: { size: { cols: 80, rows: 24 } } };
    expect((await collect(await start(agent, order))).pty).toMatch(/0::.*\/pty\/\d+\r\n/);
  });

  testAlone("at the sandbox's limit of control groups a start is resource_exhausted, and says so", async () => {
    const limit = "/sys/fs/cgroup/cgroup.max.descendants";
    const script = `before=$(cat ${limit}); echo 0 > ${limit}; echo set; read -r _; echo $before > ${limit}`;
    const open = await start(agent, { process: { cmd: "sh", args: ["-c", script] } }, { user: "root" });
    const { pid } = await readUntil(open, (soFar) => soFar.stdout === "set\n");
    const { error } = await run(agent, "true");
    await unary(agent, "process.Process/SendInput", { process: { pid }, input: { stdin: btoa("\n") } });
    await collect(open);
    expect([error?.code, error?.message]).toEqual(["resource_exhausted", expect.stringContaining("limit of command groups")]);
    expect((await run(agent, "echo again")).stdout).toBe("again\n");
  });

  test("pid is the command's own, and stays", async () => {
    const result = await run(agent, "echo $$");
    expect(result.stdout).toBe(`${result.pid}\n`);
  });

  test("the end is told although a background process holds the output, which lives on and may write", async () => {
    const background = "until test -e ~/background-go; do sleep 0.05; done; echo late; echo late; touch ~/background-done";
    const result = await run(agent, `(${background}) & echo ok`);
    expect(result.stdout).toBe("ok\n");
    expect(result.end.status).toBe("exit status 0");
    const done = await run(
      agent,
      "touch ~/background-go; for i in $(seq 100); do test -e ~/background-done && echo yes && break; sleep 0.1; done",
    );
    expect(done.stdout).toBe("yes\n");
  });

  test("no zombies, descriptors or control groups are left of a hundred commands at once", async () => {
    // The agent is the parent of the command's parent. Sockets are the test's own connections.
    const script = "agent=$(cut -d' ' -f4 /proc/$(cut -d' ' -f4 /proc/$$/stat)/stat); ls -l /proc/$agent/fd | grep -vc socket:";
    const descriptors = async () => Number((await run(agent, script, { user: "root" })).stdout);
    await descriptors();
    const before = await descriptors();
    await Promise.all(Array.from({ length: 100 }, (_, i) => run(agent, `exit ${i % 7}`)));
    const count = "ls -d /sys/fs/cgroup/user/*/ | wc -l; ps -e -o stat= | grep -c ^Z";
    const left = async () => (await run(agent, count, { user: "root" })).stdout;
    // What an earlier test left in the background keeps its control group until the next sweep.
    for (let i = 0; i < 80 && (await left()) !== "1\n0\n"; i++) await Bun.sleep(100);
    expect(await left()).toBe("1\n0\n");
    expect(await descriptors()).toBeLessThanOrEqual(before + 2);
  }, 20_000);
});
