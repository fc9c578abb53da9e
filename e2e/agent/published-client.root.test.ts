import { expect, test } from "bun:test";
import { join } from "node:path";
import { initialise, startAgent } from "./support/agent-under-test.ts";

test("the published npm client, against a lone agent: commands, terminals, files, watch", async () => {
  const agent = await startAgent({ init: false });
  try {
    await initialise(agent, { defaultUser: "user" });
    const program = join(import.meta.dir, "support/published-client.mjs");
    const env = { PATH: "/usr/bin:/bin", E2B_DEBUG: "true", E2B_API_KEY: `e2b_${"0".repeat(40)}`, E2B_SANDBOX_URL: agent.baseUrl };
    const child = Bun.spawn([process.execPath, program], { env, stdio: ["ignore", "pipe", "pipe"] });
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
