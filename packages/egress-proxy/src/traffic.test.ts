import { expect, test } from "bun:test";
import type { Connection } from "@boxyard/http1";
import { type TrafficReport, TrafficReports } from "./traffic.ts";

const ADDRESS = "10.208.0.16";
const MINUTE = 60_000;
type Moved = { sentBytes: number; receivedBytes: number };

function setUp() {
  let at = 0;
  const told: TrafficReport[] = [];
  const reports = new TrafficReports(
    (report) => told.push(report),
    () => at,
  );
  const connect = () => {
    const traffic = reports.follow(ADDRESS, 443);
    // As the proxy sees it: it receives what the sandbox sends. Without a descriptor the kernel knows no destination.
    const connection: Moved & Pick<Connection, "descriptor"> = { sentBytes: 0, receivedBytes: 0, descriptor: -1 };
    traffic.begin(connection as unknown as Connection);
    const move = (sent: number, received: number) => {
      connection.receivedBytes += sent;
      connection.sentBytes += received;
    };
    return { traffic, move };
  };
  const passes = (ms: number) => {
    at += ms;
    reports.sweep();
  };
  const take = () => told.splice(0).map(({ name, isAllowed, sentBytes, receivedBytes }) => [name, isAllowed, sentBytes, receivedBytes]);
  return { reports, connect, passes, take, told };
}

test("tells the bytes of a connection when it ends, with what it was for, and each minute before that", () => {
  const { reports, connect, passes, take, told } = setUp();
  const { traffic, move } = connect();
  traffic.allowed({ name: "a.example", entry: "*.example" });
  move(100, 2000);
  passes(MINUTE - 1);
  expect(take()).toEqual([]);
  passes(1);
  expect(take()).toEqual([["a.example", true, 100, 2000]]);
  passes(MINUTE);
  expect(take()).toEqual([]);
  move(7, 0);
  reports.leave(traffic);
  expect(told).toEqual([
    { address: ADDRESS, isAllowed: true, name: "a.example", entry: "*.example", port: 443, sentBytes: 7, receivedBytes: 0 },
  ]);
  passes(MINUTE);
  expect(told).toHaveLength(1);
});

test("reports a connection that moved nothing, once, and none that ended before it was decided about", () => {
  const { reports, connect, take } = setUp();
  const [silent, undecided] = [connect().traffic, connect().traffic];
  silent.allowed({ name: "a.example" });
  silent.allowed({ name: "a.example" });
  reports.leave(silent);
  reports.leave(undecided);
  expect(take()).toEqual([["a.example", true, 0, 0]]);
});

test("tells the hosts of one connection apart, and a refusal at once", () => {
  const { reports, connect, take } = setUp();
  const { traffic, move } = connect();
  traffic.allowed({ name: "a.example" });
  move(10, 20);
  traffic.allowed({ name: "b.example" });
  move(1, 2);
  traffic.denied("evil.example");
  reports.leave(traffic);
  expect(take()).toEqual([
    ["a.example", true, 10, 20],
    ["b.example", true, 1, 2],
    ["evil.example", false, 0, 0],
  ]);
});

test("tells a bounded number of one sandbox, and still of another", () => {
  const { reports, connect, passes, told } = setUp();
  const { traffic } = connect();
  for (let i = 0; i < 10_000; i++) traffic.denied("evil.example");
  expect(told.length).toBe(200);
  reports.follow("10.208.0.17", 443).denied("evil.example");
  expect(told.length).toBe(201);
  passes(1000);
  for (let i = 0; i < 10_000; i++) traffic.denied("evil.example");
  expect(told.length).toBe(241);
});
