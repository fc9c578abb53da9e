import { readFileSync } from "node:fs";
import { processCpuMs } from "@boxyard/core/node";
import { ENGINE_SETTINGS } from "@boxyard/driver";

const DEADLINE_MS = 10_000;

/** CPU milliseconds of a compiled agent from its exec until it listens. It runs by itself, outside of any sandbox, and starts nothing. */
export async function cpuToListen(executable: string, emptyDirectory: string, port: number): Promise<number> {
  const agent = Bun.spawn([executable], {
    env: {
      ...ENGINE_SETTINGS,
      BOXYARD_INIT_KEY: "x",
      BOXYARD_AGENT_HOST: "127.0.0.1",
      BOXYARD_AGENT_PORT: String(port),
      BOXYARD_AGENT_CGROUP: emptyDirectory,
      BOXYARD_AGENT_CGROUP_V1: emptyDirectory,
      BOXYARD_AGENT_HOST_DIR: emptyDirectory,
    },
    stdio: ["ignore", "ignore", "inherit"],
  });
  try {
    for (const deadline = Date.now() + DEADLINE_MS; !listens(port); Bun.sleepSync(0.2))
      if (Date.now() > deadline) throw new Error(`the agent does not listen within ${DEADLINE_MS} ms`);
    return processCpuMs(agent.pid);
  } finally {
    agent.kill("SIGKILL");
    await agent.exited;
  }
}

/** proc_pid_net(5): local address and port in hexadecimal, state 0A is LISTEN. */
function listens(port: number): boolean {
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return readFileSync("/proc/net/tcp", "latin1").includes(`0100007F:${hex} 00000000:0000 0A`);
}
