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
const removed = (replica: ReplicaProcess, id: string) =>
  eventually(`${id} is removed`, async () => [204, 404].includes((await replica.call("DELETE", `/sandboxes/${id}`)).status));
const health = async (replica: ReplicaProcess, id: string) =>
  (await replica.fetch("/health", { headers: { "e2b-sandbox-id": id, "e2b-sandbox-port": "49983" } })).status;
const kept = () => [...cluster.world.world.sandboxes.keys()].sort() as string[];

/** The bystander is well, and besides it there are `others` alone, in the store and in the world. */
async function onlyBystanderAnd(replica: ReplicaProcess, ...others: string[]): Promise<void> {
  const wanted = [bystander, ...others].sort();
  for (const id of wanted) await eventually(`${id} answers`, async () => (await health(replica, id)) === 204);
  await eventually(`there are ${wanted} alone`, async () => {
    const { status, body } = await replica.call("GET", "/v2/sandboxes");
    const listed = status === 200 && (body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID).sort();
    return Bun.deepEquals(listed, wanted) && Bun.deepEquals(kept(), wanted);
  });
}

interface Death {
  readonly answer: Reply;
  readonly key: Record<string, string>;
  /** The owner after it, which may be the same one again. */
  readonly next: ReplicaProcess;
}

/** Lets the owner die at `point` of a create that the other one is asked for. */
function dieInCreate(point: string): Promise<Death> {
  const look = async () => {
    const key = { "Idempotency-Key": crypto.randomUUID() };
    // As far as an attempt before this one has ended early.
    for (const replica of cluster.replicas) {
      replica.spare();
      if (replica.hasEnded) replica.start();
    }
    const { owner, standby } = await cluster.settled();
    owner.killAt(point);
    const answer = await create(standby, key);
    if (answer.body?.error_code === "owner_lost" && (await hasEnded(owner))) {
      await cluster.expireLease();
      owner.start();
      return { answer, key, next: (await cluster.settled()).owner };
    }
    // On a busy machine the owner may have changed meanwhile: then this one has not done the create.
    owner.spare();
    await removed(standby, (await created(standby, key)).sandboxID);
    return false;
  };
  return eventually(`the owner dies ${point}`, look, { withinMs: 45_000 });
}

const hasEnded = (replica: ReplicaProcess): Promise<boolean> =>
  eventually("the process has ended", () => replica.hasEnded, { withinMs: 5000 }).catch(() => false);

const points = () => {
  const all = pointsOf(TRANSITIONS.create);
  return [...all.map((point) => `before ${point}`), `after ${all.at(-1)}`];
};

describe("kill -9 of the owner in a create", () => {
  test.each(points())(
    "%s: the client is told, and who asks again has one sandbox",
    async (point) => {
      const { answer, key, next } = await dieInCreate(point);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      const { sandboxID: id } = await created(next, key);
      await onlyBystanderAnd(next, id);
      await removed(next, id);
      await onlyBystanderAnd(next);
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
  await removed(standby, made);
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
    await removed(standby, sandboxID);
  } finally {
    standby.link.heal();
  }
}, 60_000);
