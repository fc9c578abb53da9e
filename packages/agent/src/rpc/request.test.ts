import { expect, test } from "bun:test";
import { basicUser, keepaliveOf } from "./request.ts";

const keepalive = (text: string) => keepaliveOf(new Headers({ "Keepalive-Ping-Interval": text }));
const user = (text: string) => basicUser(new Headers({ Authorization: text }));

test("keepalive interval: 90 s, or that of the header, at least one second", () => {
  expect(keepaliveOf(new Headers())).toBe(90_000);
  expect(["1", "50", "0", "-5", "1.5", "x", "99999999999"].map(keepalive)).toEqual([1_000, 50_000, 90_000, 90_000, 90_000, 90_000, 90_000]);
});

test("basicUser reads a Basic header with or without a password; other headers have no user", () => {
  expect(basicUser(new Headers())).toBeUndefined();
  expect([user(`Basic ${btoa("root:secret")}`), user(`basic ${btoa("root:")}`), user(`Basic ${btoa("root")}`)]).toEqual([
    "root",
    "root",
    "root",
  ]);
  expect(["Basic", "Basic !!!", "Bearer x"].map(user)).toEqual([undefined, undefined, undefined]);
});
