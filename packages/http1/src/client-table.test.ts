import { expect, test } from "bun:test";
import { ClientConnection, type ClientHost } from "./client-connection.ts";
import { ClientTable } from "./client-table.ts";
import { PLAIN_NAMES } from "./fields.ts";

const host: ClientHost = {
  names: PLAIN_NAMES,
  exchange: () => {
    throw new Error("no request comes");
  },
  malformed() {},
  onClosed() {},
  now: () => 0,
};

test.each([
  ["one network of 64 bits", ["2001:db8:0:1::1", "2001:db8::1:a:b:c:d", "2001:db8:0:1:ffff::"], true],
  ["two of them", ["2001:db8:0:1::1", "2001:db8:0:2::1", "2001:db8:0:3::1"], false],
  ["one IPv4 address", ["192.0.2.1", "192.0.2.1", "192.0.2.1"], true],
  ["two of them", ["192.0.2.1", "192.0.2.2", "::ffff:192.0.2.1"], false],
])("%s: %p", (_what, addresses, isOne) => {
  const table = new ClientTable(4);
  const clients = addresses.map(() => new ClientConnection(host));
  for (const [i, client] of clients.entries()) expect(table.add(client, addresses[i] ?? "")).toBe(true);
  expect(table.add(new ClientConnection(host), addresses[0] ?? "")).toBe(true);
  // The share of one address is three of four.
  expect([table.size, clients.map((client) => client.closed)]).toEqual([isOne ? 3 : 4, [isOne, false, false]]);
});
