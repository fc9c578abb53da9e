import { expect, test } from "bun:test";
import { FakeClock, type SandboxId, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import dnsPacket from "dns-packet";
import { addressesOfAnswer } from "../dns/addresses-of-answer.ts";
import { Attempts } from "./attempts.ts";
import { NetworkRecord } from "./network-record.ts";
import { parsePacket } from "./packets.ts";

const A = "iaaaaaaaaaaaaaaaaaaaa" as SandboxId;
const B = "ibbbbbbbbbbbbbbbbbbbb" as SandboxId;

function answerOf(name: string, addresses: readonly string[]): Uint8Array {
  const answers = [
    { type: "CNAME" as const, name, data: "other.example" },
    ...addresses.map((data) => ({ type: "A" as const, name: "other.example", data })),
  ];
  return new Uint8Array(dnsPacket.encode({ type: "response", id: 1, flags: 0, questions: [{ type: "A", name }], answers }));
}

test("reads the addresses of an answer, and nothing beyond the end of one that is cut off", () => {
  const answer = answerOf("a.example", ["192.0.2.1", "192.0.2.2"]);
  expect(addressesOfAnswer(answer)).toEqual(["192.0.2.1", "192.0.2.2"]);
  for (let length = 0; length < answer.length; length++) {
    const found = addressesOfAnswer(answer.slice(0, length));
    expect(found).toEqual(["192.0.2.1"].slice(0, found.length));
  }
});

test("notes what was asked and answered, and what may not be asked", () => {
  const record = new NetworkRecord({
    netlink: undefined as never,
    sandboxAt: (address) => (address === "10.0.0.1" ? A : undefined),
    clock: systemClock,
    logger: silentLogger,
  });
  record.onQuestion({ address: "10.0.0.1" }, "A.Example", answerOf("a.example", ["192.0.2.1"]));
  record.onQuestion({ address: "10.0.0.1" }, "closed.example", undefined);
  record.onQuestion({ address: "10.0.0.9" }, "of-nobody.example", undefined);
  expect(record.take().attempts).toMatchObject([
    { sandboxId: A, protocol: "dns", isAllowed: true, rule: "allowed", name: "a.example", answers: ["192.0.2.1"] },
    { sandboxId: A, protocol: "dns", isAllowed: false, rule: "names", name: "closed.example", answers: [] },
  ]);
  expect(record.take().attempts).toEqual([]);
});

test("counts what one sandbox does too often, and keeps what another does", async () => {
  const clock = new FakeClock();
  const attempts = new Attempts(clock);
  const note = (sandboxId: SandboxId) => attempts.note({ sandboxId, protocol: "tcp", isAllowed: false, rule: "blocked" });
  for (let i = 0; i < 1000; i++) note(A);
  note(B);
  const first = attempts.take();
  expect([first.attempts.length, first.dropped.get(A), first.dropped.get(B)]).toEqual([101, 900, undefined]);
  await clock.advance(1000);
  for (let i = 0; i < 100; i++) note(A);
  expect(attempts.take().attempts.length).toBe(20);
});

test("reads addresses and ports of packets, and nothing of less than a head", () => {
  const packet = Uint8Array.of(0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 192, 0, 2, 1, 0x12, 0x34, 0x01, 0xbb);
  expect(parsePacket(packet)).toEqual({ from: "10.0.0.1", address: "192.0.2.1", protocol: "tcp", port: 443 });
  expect(parsePacket(packet.slice(0, 20))).toEqual({ from: "10.0.0.1", address: "192.0.2.1", protocol: "tcp" });
  expect([parsePacket(packet.slice(0, 19)), parsePacket(new Uint8Array(0)), parsePacket(Uint8Array.of(0x60))]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
