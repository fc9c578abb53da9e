import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AgentUnderTest, startAgent } from "./support/agent-under-test.ts";
import { collect, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

describe("Start", () => {
  test("first event is start, then data, then end, then end-of-stream", async () => {
    const result = await run(agent, "echo out; echo err >&2");
    expect(result.order).toEqual(["start", "data", "end"]);
    expect(result.pid).toBeGreaterThan(0);
    expect(result.stdout).toBe("out\n");
    expect(result.stderr).toBe("err\n");
    expect(result.end).toEqual({ exited: true, status: "exit status 0" });
    expect(result.error).toBeUndefined();
  });

  test("the process runs as the given user with supplementary groups", async () => {
    expect((await run(agent, "id -u; id -g; id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '", { user: "user" })).stdout).toBe(
      "1000\n1000\n27 50 1000 ",
    );
    expect((await run(agent, "id -u; id -G", { user: "root" })).stdout).toBe("0\n0\n");
  });

  test("a missing binary is exit code 127 with text on stderr, not an RPC error", async () => {
    const result = await collect(await start(agent, { process: { cmd: "no-such-program" } }));
    expect(result.end).toEqual({ exitCode: 127, exited: true, status: "exit status 127", error: "exit status 127" });
    expect(result.stderr).toContain("no-such-program: command not found");
    expect(result.error).toBeUndefined();
  });

  test("cwd that does not exist is invalid_argument", async () => {
    const result = await collect(await start(agent, shell("pwd", { cwd: "/no/such" })));
    expect(result.error).toEqual({ code: "invalid_argument", message: "cwd '/no/such' does not exist" });
  });
});
