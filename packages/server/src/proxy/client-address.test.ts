import { expect, test } from "bun:test";
import { isNetwork } from "../networks.ts";
import { clientAddressOf } from "./client-address.ts";

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
