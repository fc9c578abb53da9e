import { describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { type StartOptions, startAgent } from "./support/agent-under-test.ts";
import { unary } from "./support/rpc.ts";
import { collect, run, shell, start } from "./support/run.ts";

async function withAgent(options: StartOptions, body: (agent: AgentUnderTest) => Promise<void>): Promise<void> {
  const agent = await startAgent(options);
  try {
    await body(agent);
  } finally {
    await agent.stop();
  }
}

describe("images that lack something", () => {
  test("without /etc/passwd and /etc/group there is root, and nobody else", async () => {
    await withAgent({ passwd: null, group: null }, async (agent) => {
      expect((await run(agent, "id -u; id -G; echo $USER")).stdout).toBe("0\n0\nroot\n");
      expect((await run(agent, "true", { user: "user" })).error).toEqual({ code: "unauthenticated", message: "invalid username: 'user'" });
    });
  });

  test("a passwd file that is a pipe or endless is as good as none, and holds nothing up", async () => {
    await withAgent({ passwd: null, prepare: "mkfifo /etc/passwd; ln -sf /dev/zero /etc/group" }, async (agent) => {
      // Not through a shell, which would look its user up and wait for the pipe.
      expect((await collect(await start(agent, { process: { cmd: "id", args: ["-u"] } }))).stdout).toBe("0\n");
    });
  });

  test("users that the sandbox adds are known at once", async () => {
    await withAgent({}, async (agent) => {
      expect((await run(agent, "true", { user: "late" })).error?.code).toBe("unauthenticated");
      await run(agent, "echo late:x:1234:1234::/tmp: >> /etc/passwd; echo crew:x:77:late >> /etc/group", { user: "root" });
      expect((await run(agent, "id -u; id -G; pwd", { user: "late" })).stdout).toBe("1234\n1234 77\n/tmp\n");
    });
  });

  test("without bash the shell that is there takes its place: /bin/sh, then busybox", async () => {
    await withAgent({ prepare: "mount -t tmpfs none /mnt; touch /mnt/nothing; mount --bind /mnt/nothing /bin/bash" }, async (agent) => {
      const result = await run(agent, "readlink /proc/$$/exe; echo $0");
      expect(result.stdout).toMatch(/\/(dash|busybox|sh)\n/);
      expect(result.end.exitCode ?? 0).toBe(0);
      const listed = await unary(agent, "process.Process/List", {});
      expect(listed.status).toBe(200);
    });
  });

  test("without a shell that can be executed a line of words is started as it is; one that needs a shell ends with 126 and names the shell", async () => {
    const hide =
      "mount -t tmpfs none /mnt; touch /mnt/nothing; for f in /bin/bash /bin/sh /bin/dash /bin/busybox; do test ! -e $f || mount --bind /mnt/nothing $f; done";
    await withAgent({ prepare: hide }, async (agent) => {
      const result = await collect(await start(agent, shell("echo hi; echo you")));
      // An empty file covers each shell, and it is not executable.
      expect(result.end.exitCode).toBe(126);
      expect(result.stderr).toContain("/bin/bash");
      expect((await collect(await start(agent, shell("echo 'a  b'")))).stdout).toBe("a  b\n");
      expect((await collect(await start(agent, { process: { cmd: "echo", args: ["direct"] } }))).stdout).toBe("direct\n");
    });
  });

  test("a home that does not exist: commands start in /", async () => {
    await withAgent({ prepare: "rm -rf /home/user" }, async (agent) => {
      expect((await run(agent, "pwd", { user: "user" })).stdout).toBe("/\n");
    });
  });
});

describe("limits of the sandbox", () => {
  test("no process left: Start is resource_exhausted and says so; the agent goes on", async () => {
    await withAgent({ maxProcesses: 40 }, async (agent) => {
      const held = Array.from({ length: 45 }, () => start(agent, { process: { cmd: "sleep", args: ["60"] } }));
      const streams = await Promise.all(held);
      const first = await Promise.all(streams.map(async (open) => (await open.envelopes.next()).value?.message));
      const refused = first.filter((message) => message.error);
      expect(refused.length).toBeGreaterThan(0);
      for (const { error } of refused) {
        expect(error.code).toBe("resource_exhausted");
        expect(error.message).toContain("limit");
      }
      const { processes } = (await unary(agent, "process.Process/List", {})).body;
      for (const { pid } of processes) await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
      // The processes of the killed commands end a little later than the list forgets them.
      await eventually("a command runs again", async () => (await run(agent, "echo again")).stdout === "again\n", { withinMs: 30_000 });
    });
  });

  test("a command that the memory limit ends says so, in the error beside the contract's status", async () => {
    await withAgent({ memoryBytes: 300 * 1024 * 1024, limits: { memoryBytes: 300 * 1024 * 1024 } }, async (agent) => {
      const direct = await collect(await start(agent, { process: { cmd: "python3", args: ["-c", "x = bytearray(900 * 1024 * 1024)"] } }));
      expect([direct.end.exitCode, direct.end.status]).toEqual([-1, "signal: killed"]);
      expect(direct.end.error).toContain("signal: killed (out of memory");
      const inShell = await run(agent, "python3 -c 'x = bytearray(900 * 1024 * 1024)'; exit $?");
      expect([inShell.end.exitCode, inShell.end.status]).toEqual([137, "exit status 137"]);
      expect(inShell.end.error).toContain("out of memory");
      expect((await run(agent, "kill -9 $$")).end.error).toBe("signal: killed");
    });
  });
});
