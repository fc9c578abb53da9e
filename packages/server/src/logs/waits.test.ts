import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { GuestLog } from "./guest-log.ts";

/** A sandbox with an agent that takes every question and answers none. */
function silent() {
  let asked = 0;
  const agent = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: () => {
      asked++;
      return new Promise<Response>(() => {});
    },
  });
  const address = { host: "127.0.0.1", agentPort: Number(agent.port) };
  const incarnation = { address, isReachable: true, signal: new AbortController().signal };
  const sandbox = { id: "i", state: "running", record: { id: "i", owner: { kind: "user" }, createdAt: 0 }, incarnation } as never;
  return { sandbox, asked: () => asked, [Symbol.asyncDispose]: () => agent.stop(true) };
}

function logOf(sandbox: never, clock: FakeClock): GuestLog {
  const store = { sandboxLogs: { add: () => Promise.resolve() } };
  return new GuestLog({
    sandboxes: { ofUsers: () => [sandbox] },
    answersOf: () => 1,
    tokenOf: () => "t",
    store,
    clock,
    logger: silentLogger,
  });
}

test("who wants an agent's last words waits as long as it says, also while a round, which waits longer, asks the agent", async () => {
  await using guest = silent();
  const clock = new FakeClock();
  const guests = logOf(guest.sandbox, clock);
  const round = guests.once();
  await eventually("the round asks", () => guest.asked() === 1);
  const waits = guests.catchUp(guest.sandbox, 1000);
  await clock.advance(1000);
  await waits;
  expect(guest.asked()).toBe(1);
  await clock.advance(1000);
  await round;
}, 20_000);
