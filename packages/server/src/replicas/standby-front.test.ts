import { afterEach, beforeEach, expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { eventually, freePort } from "@boxyard/testkit";
import { connectRaw, type RawPeer } from "../testing/raw.ts";
import { CountingView } from "../testing/replicas/counting-view.ts";
import { ReplicaSeal } from "./replica-seal.ts";
import { StandbyFront } from "./standby-front.ts";

const seal = new ReplicaSeal(new Uint8Array(32).fill(7));

let owner: Bun.Server<undefined>;
let front: StandbyFront;
let view: CountingView;
/** Heads of the requests that the owner got. */
let asked: Headers[];
let bodies: string[];
beforeEach(() => {
  asked = [];
  bodies = [];
  owner = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      asked.push(request.headers);
      bodies.push(await request.text());
      return new Response("the owner", { status: request.url.endsWith("/refused") ? 401 : 200 });
    },
  });
  view = new CountingView(systemClock);
  view.set(at(1, owner.port as number));
  const about = { seal, role: () => "standby" as const, view };
  front = new StandbyFront({ ...about, hostname: "127.0.0.1", port: 0, clock: systemClock, logger: silentLogger, maxClients: 4 });
});
afterEach(async () => {
  view.close();
  await front.close(0);
  await owner.stop(true);
});

const at = (epoch: number, port: number) => ({ epoch, host: "127.0.0.1", port });

/** By the owner, or by the front itself. */
const isAnswered = (received: string) => /(the owner|\})$/.test(received);

async function ask(path: string, fields = ""): Promise<RawPeer> {
  const client = await connectRaw(front.port);
  client.send(`GET ${path} HTTP/1.1\r\nHost: boxyard.test\r\n${fields}\r\n`);
  await client.wait(isAnswered);
  return client;
}

const statusOf = ({ received }: RawPeer) => received.split(" ")[1];

test("the owner gets the addresses on the way, of a client whose connection ends here", async () => {
  const client = await ask("/", "X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 198.51.100.7\r\n");
  expect(statusOf(client)).toBe("200");
  expect(asked[0]?.get("x-forwarded-by-replica")).toMatch(/^1 /);
  expect(asked[0]?.get("x-forwarded-for")).toBe("203.0.113.9, 198.51.100.7, 127.0.0.1");
});

test("what one replica has passed on goes to the owner with the client that it names, and what two have passed on goes no further", async () => {
  const sealed = (passes: number) =>
    seal.linesFor({ method: "GET", target: "/", host: "boxyard.test" }, passes, {
      addresses: "203.0.113.9",
      proto: "https",
      host: undefined,
    });
  expect(statusOf(await ask("/", sealed(1)))).toBe("200");
  expect([asked[0]?.get("x-forwarded-for"), asked[0]?.get("x-forwarded-proto")]).toEqual(["203.0.113.9", "https"]);
  expect(asked[0]?.get("x-forwarded-by-replica")).toMatch(/^2 /);
  const client = await ask("/", sealed(2));
  expect([statusOf(client), asked.length]).toEqual(["503", 1]);
  expect(client.received).toContain('"no_owner"');
});

test("a connection whose request the owner has refused makes room before one that was let in", async () => {
  // Three of four connections are the most of one address.
  const letIn = await ask("/");
  const refused = await ask("/refused");
  const last = await ask("/");
  const another = await ask("/");
  await refused.wait((_received, closed) => closed, "its end");
  expect([letIn.closed, last.closed, another.closed]).toEqual([false, false, false]);
});

test("a request that could not be sent waits for the next owner, with what has come of its body, and is sent once", async () => {
  view.set(at(2, await freePort()));
  const client = await connectRaw(front.port);
  client.send("POST / HTTP/1.1\r\nHost: boxyard.test\r\nContent-Length: 10\r\n\r\nfirst");
  await eventually("it waits", () => view.waits === 1);
  view.set(at(2, owner.port as number));
  expect(asked).toEqual([]);
  view.set(at(3, owner.port as number));
  client.send(" last");
  await client.wait(isAnswered);
  expect([statusOf(client), bodies]).toEqual(["200", ["first last"]]);
});

test("a request that finds no owner is told so, and to come again", async () => {
  view.set(undefined);
  const client = await connectRaw(front.port);
  client.send("GET / HTTP/1.1\r\nHost: boxyard.test\r\n\r\n");
  await eventually("it waits", () => view.waits === 1);
  view.close();
  expect(await client.wait(isAnswered)).toMatch(/^HTTP\/1.1 503 .*\r\nRetry-After: 1\r\n.*"no_owner"/is);
});
