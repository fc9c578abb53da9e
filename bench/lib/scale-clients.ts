/*
 * The clients of the bench `scale`, and the one agent of all its sandboxes, in a process of their own: so the CPU time of the bench's process is the
 * server's and the driver's. Takes an order per line of its input, and prints a load for each; before them a line with the agent's port.
 */
import { createInterface } from "node:readline";
import { askAtOnce, askPerSecond, type Order } from "./scale-load.ts";

const agent = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(null, { status: 204 }) });
const tell = (what: object) => process.stdout.write(`${JSON.stringify(what)}\n`);

tell({ agentPort: agent.port });
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as Order;
  tell(await ("atOnce" in order ? askAtOnce(order) : askPerSecond(order)));
}
await agent.stop(true);
