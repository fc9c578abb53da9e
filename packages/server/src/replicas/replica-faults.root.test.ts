import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { SQL } from "bun";
import { pointsOf } from "../sandboxes/engine/transition.ts";
import { TRANSITIONS } from "../sandboxes/transitions/index.ts";
import { ReplicaCluster, type ReplicaProcess, type Reply } from "../testing/replicas/cluster.ts";

/*
 * The owner is killed at each step of a create, the database restarts, and the network between a server and the database is cut. A
 * sandbox that runs all the time does not notice, and nothing is left of what was not finished.
 */

let postgres: TestPostgres;
let cluster: ReplicaCluster;
let bystander: string;
beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await ReplicaCluster.start(postgres, 2);
  const { owner } = await cluster.settled();
  bystander = (await created(owner)).sandboxID;
}, 90_000);
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
}, 60_000);

const create = (replica: ReplicaProcess, headers: Record<string, string> = {}) =>
  replica.call("POST", "/v2/sandboxes", { templateID: "base", timeout: 3600 }, headers);
const created = (replica: ReplicaProcess, headers: Record<string, string> = {}): Promise<{ sandboxID: string }> =>
  eventually("a sandbox is made", async () => {
    const { status, body } = await create(replica, headers);
    return status === 201 && body;
  });
const health = async (replica: ReplicaProcess, id: string) =>
  (await replica.fetch("/health", { headers: { "e2b-sandbox-id": id, "e2b-sandbox-port": "49983" } })).status;
const kept = () => [...cluster.world.world.sandboxes.keys()].sort() as string[];

/** The bystander is well, and besides it there are `others` alone, in the store and in the world. */
async function onlyBystanderAnd(replica: ReplicaProcess, ...others: string[]): Promise<void> {
  const wanted = [bystander, ...others].sort();
  expect(await health(replica, bystander)).toBe(204);
  const listed = (await replica.call("GET", "/v2/sandboxes")).body as { sandboxID: string }[];
  expect(listed.map(({ sandboxID }) => sandboxID).sort()).toEqual(wanted);
  await eventually("nothing else is left", () => Bun.deepEquals(kept(), wanted));
}

/** Lets the owner die at `point` of what `work` asks of the other one. Gives the answer, and the owner after it. */
async function dieDuring(
  point: string,
  work: (standby: ReplicaProcess) => Promise<Reply>,
): Promise<{ answer: Reply; next: ReplicaProcess }> {
  const { standby } = await cluster.settled();
  // On a busy machine the owner may change meanwhile: whichever it is dies.
  for (const replica of cluster.replicas) replica.killAt(point);
  const answer = await eventually(`the owner dies ${point}`, async () => {
    const reply = await work(standby);
    return reply.body?.error_code === "owner_lost" && reply;
  });
  for (const replica of cluster.replicas) replica.spare();
  const dead = await eventually("the process has ended", () => cluster.replicas.find(({ hasEnded }) => hasEnded));
  dead.start();
  // It may be the same one again.
  const { owner: next } = await cluster.settled();
  return { answer, next };
}

const points = () => {
  const all = pointsOf(TRANSITIONS.create);
  return [...all.map((point) => `before ${point}`), `after ${all.at(-1)}`];
};

describe("kill -9 of the owner in a create", () => {
  test.each(points())(
    "%s: the client is told, and who asks again has one sandbox",
    async (point) => {
      const key = { "Idempotency-Key": crypto.randomUUID() };
      const { answer, next } = await dieDuring(point, (standby) => create(standby, key));
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      const { sandboxID: id } = await created(next, key);
      expect(await health(next, id)).toBe(204);
      await onlyBystanderAnd(next, id);
      expect((await next.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
    },
    60_000,
  );
});

test("events have one order over all owners, without gaps", async () => {
  await using sql = new SQL(cluster.databaseUrl, { max: 1 });
  const [row] = (await sql`SELECT count(*)::int AS count, min(cursor)::int AS first, max(cursor)::int AS last FROM events`) as [
    { count: number; first: number; last: number },
  ];
  expect(row.last - row.first + 1).toBe(row.count);
  const [owner] = (await sql`SELECT epoch::int AS epoch FROM replica_lease`) as [{ epoch: number }];
  expect(owner.epoch).toBeGreaterThan(points().length);
});

test("while the database is away sandboxes are reached through any server and nothing is changed, and then an owner goes on", async () => {
  const { owner, standby } = await cluster.settled();
  const { epoch: before } = (await owner.call("GET", "/replica")).body;
  expect(await health(standby, bystander)).toBe(204);
  await postgres.crash();
  try {
    await eventually("the lease has ended", async () => (await owner.role()) === "lapsed");
    for (const replica of [owner, standby]) {
      expect(await health(replica, bystander)).toBe(204);
      expect((await create(replica)).status).toBe(503);
      expect((await replica.call("DELETE", `/sandboxes/${bystander}`)).status).toBe(503);
    }
    expect(kept()).toContain(bystander);
  } finally {
    await postgres.start();
  }
  const { epoch } = (await (await cluster.settled()).owner.call("GET", "/replica")).body;
  console.log(`the database was away: epoch ${before} before, ${epoch} after`);
  const { sandboxID: made } = await created(standby);
  await onlyBystanderAnd(standby, made);
  expect((await standby.call("DELETE", `/sandboxes/${made}`)).status).toBe(204);
}, 120_000);

test("an owner that is cut off from the database is replaced, and changes nothing from then on", async () => {
  const { owner, standby } = await cluster.settled();
  owner.link.cut();
  try {
    await eventually("the other one owns", async () => (await standby.role()) === "owner");
    expect(await owner.role()).toBe("lapsed");
    expect((await owner.call("DELETE", `/sandboxes/${bystander}`)).status).toBe(503);
    expect(await health(owner, bystander)).toBe(204);
    await onlyBystanderAnd(standby);
  } finally {
    owner.link.heal();
  }
  await eventually("the former owner waits", async () => (await owner.role()) === "standby");
  await onlyBystanderAnd(owner);
}, 90_000);

test("a standby that is cut off from the database passes requests on", async () => {
  const { standby } = await cluster.settled();
  standby.link.cut();
  try {
    await onlyBystanderAnd(standby);
    const { sandboxID } = await created(standby);
    expect((await standby.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  } finally {
    standby.link.heal();
  }
}, 60_000);
