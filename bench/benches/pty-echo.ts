import { Sandbox } from "@boxyard/sdk";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { repeat, type Summary } from "../lib/stats.ts";

const KEY = new TextEncoder().encode("x");

/** Measures from the key to its echo in the client, as a person at a terminal perceives it. The floor is a terminal of this machine. */
export const ptyEcho: Bench = {
  name: "pty-echo",
  promises: [6],
  what: "a key typed into a sandbox's terminal until its echo is back, through the SDK",
  async run(platform): Promise<BenchResult> {
    await using sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    let seen = () => {};
    await using terminal = await sandbox.pty.create({ cols: 80, rows: 24, argv: ["/bin/cat"], onData: () => seen() });
    const echo = async (send: () => unknown) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      seen = resolve;
      send();
      await promise;
    };
    const remote = () => echo(() => sandbox.pty.sendInput(terminal.pid, KEY));
    await using local = Bun.spawn(["cat"], { terminal: { data: () => seen() } });
    const floor = () => echo(() => local.terminal?.write(KEY));
    const series: Record<string, Summary> = {
      "key echo": await repeat(200, remote, 20),
      "key echo of a terminal here": await repeat(200, floor, 20),
      "key echo, 100 ms after the last": await repeat(20, remote, 2, 100),
      "key echo of a terminal here, 100 ms after the last": await repeat(20, floor, 2, 100),
    };
    local.terminal?.close();
    return { series, verdicts: [atMost("key echo p50", series["key echo"]?.p50 ?? Number.NaN, 2)], notes: [] };
  },
};
