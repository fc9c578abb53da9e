import { afterEach, beforeEach, expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import type { FakeCommand } from "@boxyard/driver/fake";
import { eventually } from "@boxyard/testkit";
import { Place } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";

/* What the agent of a sandbox of the pool is asked before a user has it, and when. */

let place: Place;
let s: TestServer;
let commands: FakeCommand[];
beforeEach(async () => {
  place = new Place();
  commands = [];
  place.world.command = (command) => {
    commands.push(command);
    return {};
  };
  s = await place.boot({ env: { BOXYARD_WARM_SANDBOXES: "1" } });
});
afterEach(() => place[Symbol.asyncDispose]());

async function warmedUp(): Promise<SandboxId> {
  await s.create({ envVars: { SECRET: "of the first" } });
  await eventually("a sandbox waits", () => s.server.warm.size > 0);
  const [member] = s.server.engine.sandboxes.all().filter(({ record }) => record.owner.kind === "pool");
  if (!member) throw new Error("none waits");
  return member.id;
}
const initsOf = (id: string) => place.world.sandboxes.get(id as SandboxId)?.agent?.inits ?? [];

test("an agent that waits has what the template says, and has started the platform's own program; it gets what is the user's with the claim", async () => {
  const member = await warmedUp();
  const [waiting, ...none] = initsOf(member);
  expect(none).toEqual([]);
  expect(waiting).toMatchObject({ sandboxID: member, envVars: { E2B_SANDBOX_ID: member } });
  expect(JSON.stringify(waiting)).not.toContain("SECRET");
  // With a time, the claim's own would be older after the clock was set back.
  expect(waiting).not.toHaveProperty("timestamp");
  expect(new Set(commands.map(({ cmd }) => cmd))).toEqual(new Set(["/.boxyard/launch"]));
  const { sandboxID } = await s.create({ envVars: { MINE: "yes" } });
  expect(sandboxID).toBe(member as string);
  const claimed = initsOf(member)[1];
  expect(claimed).toMatchObject({ accessToken: waiting?.accessToken, envVars: { MINE: "yes", E2B_SANDBOX_ID: member } });
  expect(claimed?.timestamp).toBeString();
});

test("after the death of the server the next one tells the agent all of it anew", async () => {
  const member = await warmedUp();
  await place.crash(s);
  s = await place.boot({ env: { BOXYARD_WARM_SANDBOXES: "1" } });
  await s.create({ envVars: { MINE: "yes" } });
  expect(initsOf(member)[1]).toMatchObject({ sandboxID: member, envVars: { MINE: "yes" } });
});

test("an agent that starts no command waits as any other", async () => {
  place.world.command = () => ({ error: { code: "internal", message: "no" } });
  expect(await warmedUp()).toBeString();
});

test("what is being made for the pool stands still while a create is worked on", async () => {
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const starts: string[] = [];
  await s.stop();
  const before = async (point: string) => {
    if (point === "warm find") starts.push("warm");
    if (point !== "warm create") return;
    reached.resolve();
    await goOn.promise;
  };
  s = await place.boot({ env: { BOXYARD_WARM_SANDBOXES: "1" }, observer: { before } });
  await s.create();
  await reached.promise;
  // A create that is worked on for as long as this test wants.
  const working = s.server.warm.working();
  goOn.resolve();
  const member = () => s.server.engine.sandboxes.all().find(({ record }) => record.owner.kind === "pool");
  await eventually("the driver has created it", () => place.world.sandboxes.has(member()?.id as SandboxId));
  await s.call("GET", "/v2/sandboxes");
  expect(starts).toEqual([]);
  working[Symbol.dispose]();
  await eventually("it is started", () => starts.length === 1);
});
