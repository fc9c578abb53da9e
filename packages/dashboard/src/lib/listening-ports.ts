import type { Commands } from "@boxyard/sdk";

/** State of a socket in /proc/net/tcp that listens. */
const LISTEN = "0A";
/** The agent's own port is no service of the user's. */
const AGENT_PORT = 49_983;
const MOST_PORTS = 200;

/** Ports from the text of /proc/net/tcp and /proc/net/tcp6. The sandbox has written it: anything that does not look like a port is left out. */
export function portsIn(text: string): number[] {
  const ports = new Set<number>();
  for (const line of text.split("\n")) {
    const [, hex, state] = /^\s*\d+: [0-9A-F]{8,32}:([0-9A-F]{4}) [0-9A-F]{8,32}:[0-9A-F]{4} ([0-9A-F]{2}) /.exec(line) ?? [];
    const port = Number.parseInt(hex ?? "", 16);
    if (state === LISTEN && port > 0 && port !== AGENT_PORT) ports.add(port);
    if (ports.size >= MOST_PORTS) break;
  }
  return [...ports].sort((a, b) => a - b);
}

/** Ports on which programs in the sandbox listen. */
export async function listeningPorts(commands: Commands, signal: AbortSignal): Promise<number[]> {
  const { stdout } = await commands.run("cat /proc/net/tcp /proc/net/tcp6", { signal });
  return portsIn(stdout);
}
