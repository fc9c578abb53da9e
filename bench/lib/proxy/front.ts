/** The server's front alone, in a process of its own, with one route to the port in the first argument; prints its port. */
import { type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { Front, RouteTable } from "@boxyard/server";
import { BENCH_SANDBOX } from "./load.ts";

const routes = new RouteTable();
routes.add({
  sandboxId: BENCH_SANDBOX as SandboxId,
  incarnation: 1,
  host: "127.0.0.1",
  agentPort: Number(process.argv[2]),
  accessToken: "none",
});
const front = new Front({
  hostname: "127.0.0.1",
  port: 0,
  routes,
  api: () => new Response("api"),
  clock: systemClock,
  logger: silentLogger,
});
console.log(front.port);
