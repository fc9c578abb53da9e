import { expect, test } from "bun:test";
import { FakeClock, type SandboxId, type TeamId } from "@boxyard/core";
import type { NewEvent } from "../store/index.ts";
import { Denials } from "./denials.ts";

const A = "iaaaaaaaaaaaaaaaaaaaa" as SandboxId;
const B = "ibbbbbbbbbbbbbbbbbbbb" as SandboxId;
const TEAM = "team" as TeamId;
const MINUTE = 60_000;

function setUp() {
  const clock = new FakeClock();
  const events: NewEvent[] = [];
  let isFull = false;
  const note = async (some: readonly NewEvent[]) => {
    if (isFull) throw new Error("no room");
    events.push(...some);
  };
  const denials = new Denials({ note }, clock);
  const tell = async (isLiving = true) => {
    await denials.tell(() => isLiving);
    return events.splice(0).map(({ targetId, after }) => [targetId, (after as { denied: { count: number } }).denied.count]);
  };
  return {
    ...{ clock, denials, tell, events },
    fill: (full: boolean) => {
      isFull = full;
    },
  };
}

test("tells the first attempt at once, and later ones together, less and less often while they go on", async () => {
  const { clock, denials, tell } = setUp();
  const deny = (id = A) => denials.add(id, TEAM, { name: "evil.example" });
  deny();
  expect(await tell()).toEqual([[A, 1]]);
  for (let i = 0; i < 3; i++) deny();
  await clock.advance(MINUTE - 1);
  deny(B);
  expect(await tell()).toEqual([[B, 1]]);
  await clock.advance(1);
  expect(await tell()).toEqual([[A, 3]]);
  deny();
  await clock.advance(MINUTE);
  expect(await tell()).toEqual([]);
  await clock.advance(MINUTE);
  expect(await tell()).toEqual([[A, 1]]);
  expect(await tell()).toEqual([]);
  await clock.advance(3 * 60 * MINUTE);
  await tell();
  deny();
  expect(await tell()).toEqual([[A, 1]]);
  deny();
  await clock.advance(MINUTE);
  expect(await tell()).toEqual([[A, 1]]);
});

test("shows five names and addresses, and no text that is no name", async () => {
  const { denials, events } = setUp();
  for (let i = 0; i < 9; i++) {
    denials.add(A, TEAM, { name: `n${i}.example`, address: "198.51.100.1", port: 443 });
    denials.add(A, TEAM, { address: `198.51.100.${i}`, port: 25 });
  }
  denials.add(B, TEAM, { name: "\u0000\u0001 no name" });
  denials.add(B, TEAM, { address: "198.51.100.9" });
  await denials.tell(() => true);
  const numbers = [0, 1, 2, 3, 4];
  expect(events.map(({ after }) => after)).toEqual([
    {
      denied: {
        count: 18,
        names: numbers.map((i) => `n${i}.example`),
        addresses: numbers.map((i) => `198.51.100.${i}:25`),
      },
    },
    { denied: { count: 2, names: [], addresses: ["198.51.100.9"] } },
  ]);
});

test("tells again what the store did not take, and what was left when a sandbox ended", async () => {
  const { denials, tell, fill } = setUp();
  denials.add(A, TEAM, { address: "198.51.100.1", port: 25 });
  fill(true);
  await expect(tell()).rejects.toThrow("no room");
  denials.add(A, TEAM, { address: "198.51.100.2", port: 25 });
  fill(false);
  expect(await tell()).toEqual([[A, 2]]);
  denials.add(A, TEAM, { address: "198.51.100.3", port: 25 });
  expect(await tell()).toEqual([]);
  expect(await tell(false)).toEqual([[A, 1]]);
});
