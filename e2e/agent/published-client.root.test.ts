import { expect, test } from "bun:test";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { pythonClient } from "../support/published.ts";
import { initialise, startAgent } from "./support/agent-under-test.ts";
import { readAgentSuiteConfig } from "./support/config.ts";

/** What a user's program is given in debug mode. */
const debugEnv = (baseUrl: string) => ({
  PATH: readAgentSuiteConfig().path,
  E2B_DEBUG: "true",
  E2B_API_KEY: `e2b_${"0".repeat(40)}`,
  E2B_SANDBOX_URL: baseUrl,
});

test("the published npm client, against a lone agent: commands, terminals, files, watch", async () => {
  const agent = await startAgent({ init: "open" });
  try {
    await initialise(agent, { defaultUser: "user" });
    const program = join(import.meta.dir, "support/published-client.mjs");
    const child = Bun.spawn([process.execPath, program], { env: debugEnv(agent.baseUrl), stdio: ["ignore", "pipe", "pipe"] });
    const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      run: { exitCode: 0, stdout: "user\n/home/user\n", stderr: "oops\n" },
      failed: [7, "exit status 7"],
      withStdin: "typed\n",
      listed: ["sleep 300 && echo done"],
      killed: [true, -1, "signal: killed", false],
      timedOut: "TimeoutError",
      reconnected: "late\n",
      terminal: true,
      resized: true,
      terminalKilled: true,
      file: "héllo",
      events: true,
      isRunning: true,
    });
  } finally {
    await agent.stop();
  }
}, 60_000);

test("the published Python client, both flavours: a network mount is watched only when it may be", async () => {
  const fuse = join(import.meta.dir, "support/fuse-directory.py");
  const agent = await startAgent({ init: "open", prepare: `mkdir /home/fuse && python3 ${fuse} /home/fuse` });
  try {
    await initialise(agent, { defaultUser: "user" });
    const program = [await pythonClient(), join(CHECKOUT, "e2e/clients/python/run.py")];
    for (const flavour of ["sync", "async"]) {
      const argv = [...program, flavour, "network_mount", "lone_agent_scenarios"];
      const { exitCode, stdout, stderr } = await runProgram(argv, { env: debugEnv(agent.baseUrl), limitMs: 30_000 });
      expect({ flavour, exitCode, said: stdout + stderr }).toEqual({ flavour, exitCode: 0, said: "" });
    }
  } finally {
    await agent.stop();
  }
}, 300_000);
