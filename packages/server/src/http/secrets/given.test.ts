import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let other: Record<string, string>;
beforeAll(async () => {
  s = await TestServer.start();
  other = (await s.team("other")).headers;
});
afterAll(() => s[Symbol.asyncDispose]());
beforeEach(async () => {
  await s.call("DELETE", "/secrets/given");
  await s.call("POST", "/secrets", { name: "given", value: "value-that-is-given" });
});

const create = (body: object, headers = {}) => s.call("POST", "/v2/sandboxes", { templateID: "base", ...body }, headers);
const environmentOf = (id: string) => s.world.sandboxes.get(id)?.agent?.inits[0]?.envVars as Record<string, string> | undefined;
const ENV_SECRETS = { TOKEN: "Given" };

describe("a sandbox", () => {
  test("gets secrets as variables, beside its own", async () => {
    const { status, body } = await create({ envVars: { OWN: "1" }, envSecrets: ENV_SECRETS });
    expect(status).toBe(201);
    expect(environmentOf(body.sandboxID)).toMatchObject({ OWN: "1", TOKEN: "value-that-is-given" });
    const shown = [await s.call("GET", `/sandboxes/${body.sandboxID}`), await s.call("GET", "/events?limit=100")];
    expect(JSON.stringify([body, ...shown.map((answer) => answer.body)])).not.toContain("value-that-is-given");
    const row = JSON.stringify(await s.server.context.store.events.read(0, 1000));
    expect([row.includes(body.sandboxID), row.includes("value-that-is-given")]).toEqual([true, false]);
  });

  test("gets the value that the secret has at its create, with a repeated request too", async () => {
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const { sandboxID } = (await create({ envSecrets: ENV_SECRETS }, key)).body;
    await s.call("POST", "/secrets/given", { value: "another" });
    expect((await create({ envSecrets: ENV_SECRETS }, key)).body.sandboxID).toBe(sandboxID);
    expect(environmentOf(sandboxID)?.TOKEN).toBe("value-that-is-given");
    expect(environmentOf((await create({ envSecrets: ENV_SECRETS })).body.sandboxID)?.TOKEN).toBe("another");
  });

  test("is refused with what cannot be given, by the field", async () => {
    for (const [body, text] of [
      [{ envSecrets: { TOKEN: "none" } }, "envSecrets: There is no secret 'none'"],
      [{ envSecrets: { "A=B": "given" } }, "envSecrets: 'A=B' is not a variable name"],
      [{ envSecrets: { A: "given" }, envVars: { A: "1" } }, "envSecrets: 'A' is not a variable name, or is in envVars too"],
      [{ envSecrets: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`V${i}`, "given"])) }, "envSecrets"],
    ] as const) {
      const answer = await create(body);
      expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(text)]);
    }
    await s.call("POST", "/secrets", { name: "large", value: "x".repeat(64 << 10) });
    const large = await create({ envSecrets: { A: "large", B: "large" } });
    expect([large.status, large.body.message]).toEqual([400, expect.stringContaining("more than 128 KiB")]);
    expect((await create({ envSecrets: ENV_SECRETS }, other)).body.message).toBe("envSecrets: There is no secret 'Given'");
  });

  test("of a snapshot has them in its own team, and in no other one", async () => {
    const { sandboxID } = (await create({ envVars: { OWN: "1" }, envSecrets: ENV_SECRETS })).body;
    const snapshotOf = async (name: string, memory: boolean) => {
      const { snapshotID } = (await s.call("POST", `/sandboxes/${sandboxID}/snapshots`, { name, memory })).body;
      await s.call("PATCH", `/v2/templates/${name}`, { public: true });
      return snapshotID;
    };
    const [disk, memory] = [await snapshotOf("disk", false), await snapshotOf("memory", true)];
    const copies = [(await create({ templateID: disk })).body.sandboxID, (await create({ templateID: memory })).body.sandboxID];
    for (const copy of copies) expect(environmentOf(copy)).toMatchObject({ OWN: "1", TOKEN: "value-that-is-given" });
    const theirs = await create({ templateID: disk }, other);
    expect([theirs.status, environmentOf(theirs.body.sandboxID)?.OWN]).toEqual([201, "1"]);
    expect(environmentOf(theirs.body.sandboxID)).not.toHaveProperty("TOKEN");
    const refused = await create({ templateID: memory }, other);
    expect([refused.status, refused.body.message]).toEqual([400, "templateID: the memory of this snapshot holds secrets of another team"]);
    // A copy that gives the variable another value has the first one in its memory still, and so has what is captured of it.
    const again = (await create({ templateID: memory, envVars: { TOKEN: "mine" } })).body.sandboxID;
    const deeper = (await s.call("POST", `/sandboxes/${again}/snapshots`, { name: "deeper" })).body.snapshotID;
    await s.call("PATCH", "/v2/templates/deeper", { public: true });
    expect((await create({ templateID: deeper }, other)).status).toBe(400);
    const fork = (await s.call("POST", `/sandboxes/${sandboxID}/fork`, {})).body[0].sandbox.sandboxID;
    expect(s.server.engine.sandboxes.find(fork)?.record.facts.secretEnv).toEqual(["TOKEN"]);
  });
});

describe("a build", () => {
  const step = { type: "RUN", args: ["use"], secrets: [{ id: "token", env: "IN_STEP" }] };

  test("gets stored secrets for the steps that ask for them, and masks them in its log", async () => {
    const bench = new BuildBench(s);
    bench.answer = ({ envs }) => ({ stdout: `seen ${envs?.IN_STEP}` });
    const { of, status } = await bench.build("with-secret", { steps: [step], secrets: { token: { stored: "GIVEN" } } });
    expect([status, bench.ran[0]?.envs?.IN_STEP]).toEqual(["ready", "value-that-is-given"]);
    const log = (await bench.log(of)).join("\n");
    expect([log.includes("seen ***"), log.includes("value-that-is-given")]).toEqual([true, false]);
    expect(JSON.stringify(await s.server.context.store.templates.listSpecs())).not.toContain("value-that-is-given");
  });

  test("is refused without the secret, before it has begun", async () => {
    const bench = new BuildBench(s);
    const of = await bench.request("without-secret");
    const refused = await bench.start(of, { steps: [step], secrets: { token: { stored: "none" } } });
    expect([refused.status, refused.body.message]).toEqual([400, "secrets.token: There is no secret 'none'"]);
    expect((await bench.start(of, { steps: [step], secrets: { token: { stored: "given" } } })).status).toBe(202);
    expect((await bench.ended(of)).status).toBe("ready");
  });
});
