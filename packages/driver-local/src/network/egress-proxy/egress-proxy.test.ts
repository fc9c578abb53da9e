import { expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { EdgeAuthority } from "../edge-authority/authority.ts";
import { EgressProxy } from "./egress-proxy.ts";

const [SLOW, OTHER, RELEASE] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"];

/** Answers all rules but those of one sandbox, as while its recording is read through, until another sandbox has some. */
const PROGRAM = `console.log(JSON.stringify({ type: "ready" }));
const held = [];
for await (const line of console) {
  const { type, id, address } = JSON.parse(line);
  if (type !== "rules") continue;
  if (address === "${SLOW}") held.push(id);
  else console.log(JSON.stringify({ type: "done", id }));
  if (address === "${RELEASE}") for (const id of held.splice(0)) console.log(JSON.stringify({ type: "done", id }));
}`;

const policy = (host: string) => ({ hosts: [host], ranges: [] });

function newProxy(): EgressProxy {
  return new EgressProxy({
    ...{
      address: "127.0.0.1",
      ports: { http: 1, tls: 2, raw: 3 },
      inNamespace: (work) => work(),
      clock: systemClock,
      logger: silentLogger,
    },
    authority: {} as EdgeAuthority,
    reports: { onMiss() {}, onConnection() {}, onStopped() {} },
    command: () => [process.execPath, "-e", PROGRAM],
  });
}

test.each([
  ["of a running process", true],
  ["that starts the process", false],
])("a change whose rules take long to be in force holds up no other sandbox's: one %s", async (_which, isRunning) => {
  const proxy = newProxy();
  try {
    if (isRunning) await proxy.set(OTHER, policy("first.example"));
    let isInForce = false;
    const slow = proxy.set(SLOW, policy("slow.example")).then(() => {
      isInForce = true;
    });
    await proxy.set(OTHER, policy("other.example"));
    await proxy.set(OTHER, undefined);
    expect(isInForce).toBe(false);
    await proxy.set(RELEASE, policy("release.example"));
    await slow;
    expect(isInForce).toBe(true);
  } finally {
    await proxy.close();
  }
});

test("what a process did not answer in time, or before its end, is an error for all who wait", async () => {
  const proxy = newProxy();
  await proxy.set(OTHER, policy("first.example"));
  const waiting = [proxy.set(SLOW, policy("a.example")), proxy.set(SLOW, policy("b.example"))];
  for (const one of waiting) one.catch(() => {});
  await proxy.set(OTHER, policy("other.example"));
  await proxy.close();
  expect(await Promise.allSettled(waiting)).toEqual([
    { status: "rejected", reason: expect.objectContaining({ reason: "egress_proxy" }) },
    { status: "rejected", reason: expect.objectContaining({ reason: "egress_proxy" }) },
  ]);
});
