/*
 * Measures HTTPS of stand-ins of sandboxes to a server outside, in namespaces of its own (`lab.ts`): of one that reaches it directly, of one that reaches it by
 * name through the egress proxy, and of one whose TLS the proxy opens. Argument: rounds. Prints `Figures` as JSON, and ends with its standard input too.
 */
import { join } from "node:path";
import { silentLogger } from "@boxyard/core/node";
import type { EgressPolicy } from "@boxyard/driver";
import {
  DEFAULT_SHARES,
  EdgeAuthority,
  edgeCertificate,
  inNetworkNamespace,
  type Lab,
  openLab,
  openNetwork,
  type Plugged,
  PUBLIC,
  plugIn,
  startNameServer,
} from "@boxyard/driver-local/network-lab";
import { processCpuUs } from "../cpu.ts";

export const WAYS = ["direct", "named", "ruled"] as const;
export type Way = (typeof WAYS)[number];

export interface Figures {
  /** Milliseconds of each download and upload of 256 MiB; the same place in each list is the same round. */
  readonly down: Record<Way, number[]>;
  readonly up: Record<Way, number[]>;
  /** Milliseconds of each small request, with a connection of its own. */
  readonly small: Record<Way, number[]>;
  /** CPU of the egress proxy for a download, in milliseconds. */
  readonly proxyCpu: Record<Way, number[]>;
}

const HOST: Record<Way, string> = { direct: "open.example", named: "allowed.example", ruled: "edge.example" };
const POLICY: Record<Way, EgressPolicy> = {
  direct: { internetAccess: true },
  named: { internetAccess: false, denyOut: ["0.0.0.0/0"], allowOut: [HOST.named] },
  ruled: { internetAccess: true, edge: { hosts: [{ host: HOST.ruled, headers: { "X-Token": "value" } }] } },
};
const UPSTREAM = "127.0.0.53";
const BYTES = 256 << 20;
const SMALL = 20;

const none = (): Record<Way, number[]> => ({ direct: [], named: [], ruled: [] });

async function measure(lab: Lab, rounds: number, left: AsyncDisposableStack): Promise<Figures> {
  const names = await startNameServer(UPSTREAM);
  left.defer(() => names.stop());
  for (const host of Object.values(HOST)) names.addresses.set(host, PUBLIC);
  await Bun.write(`${lab.directory}/resolv.conf`, `nameserver ${UPSTREAM}\n`);
  const outside = await EdgeAuthority.open(`${lab.directory}/outside`, "The authority of the outside", Date.now);
  const trusted = edgeCertificate(`${lab.directory}/outside`);
  const networks = await openNetwork({
    ...{ instance: "0000be0e", network: "10.229.0.0/16", logger: silentLogger, trust: () => trusted },
    ...{ stateDirectory: `${lab.directory}/state`, runDirectory: `${lab.directory}/run`, resolvConf: `${lab.directory}/resolv.conf` },
    // What is measured is the way, not the share that bounds all ways.
    shares: { ...DEFAULT_SHARES, bandwidth: 0, packets: 0 },
  });
  left.defer(() => networks.release());
  await serve(lab, await outside.leaf(HOST.ruled), left);
  const sandboxes = {} as Record<Way, Plugged>;
  for (const way of WAYS) sandboxes[way] = await plugIn(lab, networks, POLICY[way]);
  const curl = async (way: Way, ...args: string[]): Promise<number[]> => {
    const { standIn } = sandboxes[way];
    const to = ["--resolve", `${HOST[way]}:443:${PUBLIC}`, "--http1.1", "-o", "/dev/null", "-w", "%{http_code} %{time_total}\n"];
    const lines = (await standIn.run("curl", "-sS", "-k", ...to, ...args)).trim().split("\n");
    if (!lines.every((line) => line.startsWith("200 "))) throw new Error(`curl, ${way}: ${lines[0]}`);
    return lines.map((line) => Number(line.split(" ")[1]) * 1000);
  };
  const zero = `${lab.directory}/zero`;
  await Bun.spawn(["truncate", "-s", String(BYTES), zero]).exited;
  const proxy = await egressProxyOf(process.pid);
  const figures: Figures = { down: none(), up: none(), small: none(), proxyCpu: none() };
  for (let round = -1; round < rounds; round++) {
    for (const way of WAYS) {
      const url = `https://${HOST[way]}`;
      const before = processCpuUs(proxy);
      const down = await curl(way, `${url}/large`);
      const cpu = (processCpuUs(proxy) - before) / 1000;
      const up = await curl(way, "-H", "Expect:", "-T", zero, `${url}/sink`);
      const small = await curl(way, "-H", "Connection: close", `${url}/[1-${SMALL}]`);
      // The first round is a warm-up.
      if (round < 0) continue;
      figures.down[way].push(...down);
      figures.up[way].push(...up);
      figures.small[way].push(...small);
      figures.proxyCpu[way].push(cpu);
    }
  }
  return figures;
}

/** Starts the server outside in a process of its own. */
async function serve(lab: Lab, { cert, key }: { cert: string; key: string }, left: AsyncDisposableStack): Promise<void> {
  const files = { cert: `${lab.directory}/cert.pem`, key: `${lab.directory}/key.pem` };
  await Bun.write(files.cert, cert);
  await Bun.write(files.key, key);
  const command = [process.execPath, join(import.meta.dir, "server.ts"), PUBLIC, files.cert, files.key, String(BYTES)];
  const server = inNetworkNamespace(lab.outside, () => Bun.spawn(command, { stdout: "pipe", stderr: "inherit", stdin: "ignore" }));
  left.defer(async () => {
    server.kill("SIGKILL");
    await server.exited;
  });
  await server.stdout.getReader().read();
}

/** The process of the egress proxy that this one has started. */
async function egressProxyOf(parent: number): Promise<number> {
  const found = Bun.spawn(["pgrep", "-P", String(parent), "-f", "egress-proxy"], { stdout: "pipe" });
  return Number((await new Response(found.stdout).text()).trim());
}

async function main(rounds: number): Promise<void> {
  const lab = await openLab();
  const left = new AsyncDisposableStack();
  left.defer(() => lab.end());
  // The bench has gone, or wants the end.
  const over = Promise.withResolvers<undefined>();
  void process.stdin.on("end", () => over.resolve(undefined)).resume();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => over.resolve(undefined));
  try {
    const figures = await Promise.race([measure(lab, rounds, left), over.promise]);
    if (figures) console.log(JSON.stringify(figures));
  } finally {
    await left.disposeAsync();
  }
}

if (import.meta.main) {
  await main(Number(process.argv[2]));
  process.exit(0);
}
