import { expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { isNetwork } from "../networks.ts";
import { connectRaw } from "../testing/raw.ts";
import { clientAddressOf } from "./client-address.ts";
import { Front } from "./front.ts";
import { RouteTable } from "./route-table.ts";

test("X-Forwarded-For counts from listed proxies alone, and the last hop that is not listed is the client", () => {
  const none = clientAddressOf([]);
  expect(none("127.0.0.1", "203.0.113.9")).toBe("127.0.0.1");
  expect(none("::ffff:192.0.2.1", undefined)).toBe("192.0.2.1");
  const some = clientAddressOf(["127.0.0.1", "10.0.0.0/8", "fd00::/8"]);
  for (const [peer, said, wanted] of [
    ["127.0.0.1", "203.0.113.9", "203.0.113.9"],
    ["127.0.0.1", "1.2.3.4, 203.0.113.9", "203.0.113.9"],
    ["::ffff:127.0.0.1", "203.0.113.9, 10.1.2.3", "203.0.113.9"],
    ["fd00::1", "2001:db8::7", "2001:db8::7"],
    ["203.0.113.1", "1.2.3.4", "203.0.113.1"],
    ["127.0.0.1", undefined, "127.0.0.1"],
    ["127.0.0.1", "unknown", "127.0.0.1"],
    ["127.0.0.1", "<script>, 10.1.1.1", "10.1.1.1"],
  ] as const) {
    expect([peer, said, some(peer, said)]).toEqual([peer, said, wanted]);
  }
});

test("entries of the setting are addresses and networks", () => {
  expect(["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"].every(isNetwork)).toBe(true);
  expect(["", "localhost", "10.0.0.0/33", "10.0.0.0/8/8", "10.0.0.0/x", "::/129"].some(isNetwork)).toBe(false);
});

test("a client cannot hide behind a line of its own before that of a proxy that adds another one", async () => {
  const about = { clientAddress: clientAddressOf(["127.0.0.1"]), routes: new RouteTable(), clock: systemClock, logger: silentLogger };
  const front = new Front({ ...about, hostname: "127.0.0.1", port: 0, api: (_request, { address }) => new Response(address) });
  try {
    const proxy = await connectRaw(front.port);
    proxy.send("GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 203.0.113.9\r\n\r\n");
    expect(await proxy.wait((received) => /\d\.\d+\.\d+\.\d+$/.test(received))).toEndWith("203.0.113.9");
  } finally {
    await front.close(0);
  }
});
