import { expect, test } from "bun:test";
import { basicUser, keepaliveOf } from "./request.ts";

const keepalive = (text: string) => keepaliveOf(new Headers({ "Keepalive-Ping-Interval": text }));
const user = (text: string) => basicUser(new Headers({ Authorization: text }));

test("keepalives: the contract's 90 s, or what the header says, but not quicker than one a second", () => {
  expect(keepaliveOf(new Headers())).toBe(90_000);
  expect(["1", "50", "0", "-5", "1.5", "x", "99999999999"].map(keepalive)).toEqual([1_000, 50_000, 90_000, 90_000, 90_000, 90_000, 90_000]);
});

test("the user of a Basic header, with or without a password; what is no such header names nobody", () => {
  expect(basicUser(new Headers())).toBeUndefined();
  expect([user(`Basic ${btoa("root:secret")}`), user(`basic ${btoa("root:")}`), user(`Basic ${btoa("root")}`)]).toEqual([
    "root",
    "root",
    "root",
  ]);
  expect(["Basic", "Basic !!!", "Bearer x"].map(user)).toEqual([undefined, undefined, undefined]);
});
