import { startPostgres } from "@boxyard/testkit";
import { ReplicaCluster, type ReplicaProcess } from "../../packages/server/src/testing/replicas/cluster.ts";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { summarize } from "../lib/stats.ts";

const ROUNDS = 3;

/** Two servers over one PostgreSQL and a driver without machines: how long a sandbox is out of reach when the one that owns it is lost, or is stopped. */
export const takeover: Bench = {
  name: "takeover",
  promises: [],
  what: `of two servers on one database, the owner is killed, and stopped: the time until the other one answers for its sandbox (--count rounds, ${ROUNDS})`,
  async run(_platform, count = ROUNDS): Promise<BenchResult> {
    await using postgres = await startPostgres();
    await using cluster = await ReplicaCluster.start(postgres, 2);
    const { owner } = await cluster.settled();
    const { body } = await owner.call("POST", "/v2/sandboxes", { templateID: "base", timeout: 3600 });
    const killed = [];
    const stopped = [];
    for (let round = 0; round < count; round++) {
      killed.push(await timed(cluster, body.sandboxID, (replica) => replica.kill9()));
      stopped.push(await timed(cluster, body.sandboxID, (replica) => replica.stop()));
    }
    const series = { "after kill -9 of the owner": summarize(killed), "after the end of one that was stopped": summarize(stopped) };
    return { series, verdicts: [atMost("another server answers, slowest", Math.round(Math.max(...killed)), 10_000)], notes: [] };
  },
};

/** Milliseconds from the end of the owner's process until the other one has its sandbox; starts the process again. */
async function timed(cluster: ReplicaCluster, id: string, end: (owner: ReplicaProcess) => Promise<void>): Promise<number> {
  const { owner, standby } = await cluster.settled();
  await end(owner);
  const startedAt = performance.now();
  for (;;) {
    // A request that comes meanwhile waits for the next owner.
    const { status } = await standby.call("GET", `/sandboxes/${id}`);
    if (status === 200) break;
    if (status !== 503) throw new Error(`the sandbox is gone: ${status}`);
  }
  const took = performance.now() - startedAt;
  owner.start();
  await cluster.settled();
  return took;
}
