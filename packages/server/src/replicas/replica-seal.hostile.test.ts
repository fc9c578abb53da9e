import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually } from "@boxyard/testkit";
import { clientAddressOf } from "../proxy/client-address.ts";
import { Front } from "../proxy/front.ts";
import { RouteTable } from "../proxy/route-table.ts";
import { type TestCertificate, testCertificate } from "../testing/certificate.ts";
import { connectRaw } from "../testing/raw.ts";
import { CountingView } from "../testing/replicas/counting-view.ts";
import type { OwnerPlace } from "./owner-place.ts";
import { ReplicaSeal } from "./replica-seal.ts";
import { StandbyFront } from "./standby-front.ts";

/*
 * Somebody in the servers' network claims to be one of them, to be believed which client a request comes from; or waits at the address of an owner that was
 * lost, for the keys in requests.
 */

const seal = new ReplicaSeal(new Uint8Array(32).fill(7));
const REQUEST = { method: "GET", target: "/who", host: "boxyard.test" };
const VICTIM = { addresses: "203.0.113.9", proto: "https", host: undefined };
const HOST = "boxyard.test";

let directory: string;
let own: TestCertificate;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-replicas-"));
  own = testCertificate();
  writeFileSync(join(directory, "cert.pem"), own.cert);
  writeFileSync(join(directory, "key.pem"), own.key);
});
afterAll(() => rmSync(directory, { recursive: true }));

let owner: Front;
let standby: StandbyFront;
let view: CountingView;
/** Addresses of clients, and whether they came by TLS, as the owner's API was told. */
let seen: string[];
beforeEach(() => {
  seen = [];
  const listening = { hostname: "127.0.0.1", port: 0, clock: systemClock, logger: silentLogger };
  owner = new Front({
    ...listening,
    tls: { hostname: "127.0.0.1", port: 0, cert: join(directory, "cert.pem"), key: join(directory, "key.pem") },
    routes: new RouteTable(),
    passedOn: seal,
    clientAddress: clientAddressOf(["198.51.100.0/24"]),
    api: async (request, call) => {
      seen.push(`${call.address} ${request.headers.get("x-forwarded-proto") ?? "http"}`);
      return new Response(`seen ${seen.at(-1)}.`);
    },
  });
  view = new CountingView(systemClock);
  view.set({ epoch: 1, host: "127.0.0.1", port: owner.port });
  standby = new StandbyFront({ ...listening, view, seal, role: () => "standby" });
});
afterEach(async () => {
  view.close();
  await standby.close(0);
  await owner.close(0);
});

async function ask(port: number, fields: string, target = "/who", host = HOST): Promise<string> {
  const client = await connectRaw(port);
  client.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
  const answer = await client.wait((received) => /(\.|\})$/.test(received));
  client.end();
  return answer;
}

const good = seal.linesFor(REQUEST, 1, VICTIM);
const sealed = /by-replica: 1 (\w+)/.exec(good)?.[1] ?? "";
/** As a client could write it. */
const claimed = (value: string) => `X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-By-Replica: ${value}\r\n`;

interface Attack {
  readonly by: string;
  readonly fields: string;
  readonly target?: string;
  readonly host?: string;
}

const FORGED: readonly Attack[] = [
  { by: "no seal", fields: claimed("1") },
  { by: "an empty field", fields: claimed("") },
  { by: "the mark of former versions", fields: claimed(`${crypto.randomUUID()} 1`) },
  { by: "zeros", fields: claimed(`1 ${"0".repeat(64)}`) },
  { by: "a seal with another key", fields: new ReplicaSeal(new Uint8Array(32)).linesFor(REQUEST, 1, VICTIM) },
  { by: "a seal that is too short", fields: claimed(`1 ${sealed.slice(2)}`) },
  { by: "a seal in capitals", fields: claimed(`1 ${sealed.toUpperCase()}`) },
  { by: "no passes", fields: claimed(`0 ${sealed}`) },
  { by: "other passes", fields: claimed(`2 ${sealed}`) },
  { by: "the field twice", fields: `${good}X-Forwarded-By-Replica: 1 ${sealed}\r\n` },
  { by: "another client", fields: good.replace("203.0.113.9", "203.0.113.8") },
  { by: "one more client", fields: `${good}X-Forwarded-For: 203.0.113.8\r\n` },
  { by: "a client without TLS", fields: good.replace("https", "http") },
  { by: "a host that the client is said to have asked", fields: `${good}X-Forwarded-Host: elsewhere.test\r\n` },
  { by: "another request", fields: good, target: "/who?else" },
  { by: "another host", fields: good, host: "elsewhere.test" },
];

test.each(FORGED)("a request that claims to be passed on, with $by, is refused by owner and standby", async ({ fields, target, host }) => {
  for (const { port } of [owner, standby]) {
    const answer = await ask(port, fields, target, host);
    expect(answer).toMatch(/^HTTP\/1.1 403 /);
    expect(answer).toContain('"not_passed_on"');
  }
  expect(await ask(owner.port, fields, "/replica", host)).toMatch(/^HTTP\/1.1 403 /);
  expect(seen).toEqual([]);
});

test("what a replica has passed on counts as its client's, whatever the replica's own address", async () => {
  expect(await ask(owner.port, good)).toContain("seen 203.0.113.9 https.");
  expect(await ask(standby.port, good)).toContain("seen 203.0.113.9 https.");
  // A client cannot choose its address through a replica: it is no proxy of the operator's.
  expect(await ask(standby.port, "X-Forwarded-For: 203.0.113.9\r\n")).toContain("seen 127.0.0.1 http.");
  expect(await ask(standby.port, "", "http://boxyard.test/who")).toContain("seen 127.0.0.1 http.");
});

test("by TLS a replica gives its requests to an owner with the certificate, and nothing of them to anybody else", async () => {
  const tls = { serverName: "localhost", ca: own.cert };
  const placeOf = (epoch: number, port: number | undefined): OwnerPlace => ({ epoch, host: "127.0.0.1", port: port ?? 0, tls });
  view.set(placeOf(2, owner.tlsPort));
  // The connection between the servers is not the client's.
  expect(await ask(standby.port, "")).toContain("seen 127.0.0.1 http.");
  let received = "";
  const data = (_socket: unknown, bytes: Buffer) => {
    received += bytes;
  };
  const listening = { hostname: "127.0.0.1", port: 0, socket: { data } };
  using impostor = Bun.listen({ ...listening, tls: testCertificate() });
  using plain = Bun.listen(listening);
  const secret = async () => {
    const client = await connectRaw(standby.port);
    client.send("GET /secret HTTP/1.1\r\nHost: boxyard.test\r\nX-API-Key: e2b_0123\r\n\r\n");
    return client;
  };
  view.set(placeOf(3, impostor.port));
  const refused = await secret();
  await eventually("the request waits for another owner", () => view.waits > 0);
  view.set(placeOf(4, owner.tlsPort));
  expect(await refused.wait((text) => text.endsWith("."))).toContain("seen 127.0.0.1");
  view.set(placeOf(5, plain.port));
  const silent = await secret();
  await eventually("TLS begins", () => received !== "");
  silent.end();
  expect(received).not.toContain("secret");
  expect(received).not.toContain("e2b_");
});
