import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { PLAIN } from "../lib/attacks.ts";
import type { Bench, BenchResult, Verdict } from "../lib/bench.ts";
import { inTurns, timed, withinTwice } from "../lib/beside.ts";
import { FLOODS } from "../lib/floods.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

/** Samples of each kind beside each flood, and as many beside plain load. */
const SAMPLES = 400;
/** Turns are short: what other load of the machine there is then affects both alike. */
const PAIRS = 10;
const PORT = 8000;
/** Answers each connection to the port with a few bytes. */
const SERVICE = `import socket
s = socket.socket(); s.bind(("", ${PORT})); s.listen(64); print("serves", flush=True)
while True:
    c, _ = s.accept(); c.recv(4096); c.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nConnection: close\\r\\n\\r\\nok"); c.close()`;

/** Milliseconds of each request to a neighbour's port, and of each command in it. */
interface Times {
  readonly requests: number[];
  readonly commands: number[];
}
const none = (): Times => ({ requests: [], commands: [] });

export const networkFlood: Bench = {
  name: "network-flood",
  promises: [],
  what: "requests to a sandbox's port, and commands in it, beside a sandbox that floods the network, against one that only computes, and against none (--count: samples)",
  async run(platform, count = SAMPLES): Promise<BenchResult> {
    const server = { apiUrl: platform.apiUrl, apiKey: platform.apiKey };
    await using attacker = await Sandbox.create({ ...server, timeoutMs: 3_600_000 });
    await using neighbour = await Sandbox.create({ ...server, timeoutMs: 3_600_000 });
    const service = await neighbour.commands.run(`python3 -c '${SERVICE}'`, { background: true, timeoutMs: 0 });
    await eventually("the service listens", () => service.stdout.includes("serves"), { withinMs: 30_000 });
    const ask = requests(platform.apiUrl, neighbour);
    const series: Record<string, Summary> = {};
    const verdicts: Verdict[] = [];
    const alone = none();
    await measure(neighbour, ask, count, alone);
    for (const what of ["requests", "commands"] as const) series[`${what} beside nothing`] = summarize(alone[what]);
    for (const [name, program] of Object.entries(FLOODS)) {
      const [plain, flooded] = [none(), none()];
      const loads = [
        { program: PLAIN, times: plain },
        { program, times: flooded },
      ] as const;
      await inTurns(attacker, loads, count, (share, times) => measure(neighbour, ask, share, times), PAIRS);
      for (const what of ["requests", "commands"] as const) {
        const [before, with_] = [summarize(plain[what]), summarize(flooded[what])];
        series[`${what} beside ${name}`] = with_;
        series[`${what} beside plain load, in turns with ${name}`] = before;
        verdicts.push(withinTwice(`${what} beside a flood of ${name}, p99, against plain load`, with_.p99, before.p99));
      }
    }
    await service.kill();
    return {
      series,
      verdicts,
      notes: ["The floods go to addresses that no sandbox reaches, and to the name server: nothing leaves the machine."],
    };
  },
};

/** Requests to the neighbour's port, each by a connection of its own. */
function requests(apiUrl: string, { sandboxId, trafficAccessToken }: Sandbox): () => Promise<unknown> {
  const headers = {
    "E2b-Sandbox-Id": sandboxId,
    "E2b-Sandbox-Port": String(PORT),
    Connection: "close",
    ...(trafficAccessToken && { "e2b-traffic-access-token": trafficAccessToken }),
  };
  return async () => {
    const answer = await fetch(apiUrl, { headers });
    if ((await answer.text()) !== "ok") throw new Error(`the neighbour's port answers ${answer.status}`);
  };
}

async function measure(neighbour: Sandbox, ask: () => Promise<unknown>, count: number, times: Times): Promise<void> {
  await repeat(1, () => neighbour.commands.run("true"), 1);
  for (let round = 0; round < count; round++) {
    await timed(times.requests, ask);
    await timed(times.commands, () => neighbour.commands.run("true"));
  }
}
