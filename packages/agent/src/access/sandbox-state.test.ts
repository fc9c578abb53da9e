import { expect, test } from "bun:test";
import { closeSync, openSync, readSync, writeSync } from "node:fs";
import { makePipe } from "../sys/native.ts";
import { readInitKey } from "./init-key.ts";
import { SandboxState } from "./sandbox-state.ts";
import { hasAccess, sameSecret } from "./token.ts";

test("the platform's facts override the environment of /init; setEnv replaces that environment as a whole", () => {
  const state = new SandboxState();
  expect({ ...state.env }).toEqual({ E2B_SANDBOX: "true" });
  state.setEnv({ A: "1", E2B_SANDBOX: "no", E2B_SANDBOX_ID: "x" });
  state.learn({ sandboxId: "i1", templateId: undefined });
  state.learn({ templateId: "t1", eventsAddress: "192.0.2.1" });
  state.setEnv({ B: "2", E2B_SANDBOX_ID: "x" });
  const facts = { E2B_SANDBOX: "true", E2B_SANDBOX_ID: "i1", E2B_TEMPLATE_ID: "t1", E2B_EVENTS_ADDRESS: "http://192.0.2.1" };
  expect({ ...state.env }).toEqual({ B: "2", ...facts });
});

test("acceptTime refuses a time before the last one; it accepts an equal one, a later one, and none", () => {
  const state = new SandboxState();
  const times = [
    { seconds: 5, nanos: 1 },
    { seconds: 5, nanos: 0 },
    { seconds: 4, nanos: 9 },
    undefined,
    { seconds: 5, nanos: 1 },
    { seconds: 5, nanos: 2 },
  ];
  expect(times.map((time) => state.acceptTime(time))).toEqual([true, false, false, true, true, true]);
});

test("sameSecret is true only for equal texts", () => {
  expect(
    [
      ["abc", "abc"],
      ["abc", "abd"],
      ["ab", "abc"],
      ["abcd", "abc"],
      ["", "abc"],
      ["ü", "ü"],
    ].map(([a, b]) => sameSecret(a ?? "", b ?? "")),
  ).toEqual([true, false, false, false, false, true]);
});

test("without an access token every request has access, with one only requests that carry it", () => {
  const headers = (token?: string) => new Headers(token === undefined ? {} : { "X-Access-Token": token });
  expect(hasAccess({ accessToken: undefined }, headers())).toBe(true);
  expect(["t", "x", "", undefined].map((token) => hasAccess({ accessToken: "t" }, headers(token)))).toEqual([true, false, false, false]);
});

test("the init key is exactly one line of the pipe; the bytes behind it stay in the pipe", () => {
  const pipe = makePipe("write");
  writeSync(pipe.write, '{"initKey":"abc"}\nrest');
  expect(readInitKey(pipe.read)).toBe("abc");
  const rest = Buffer.alloc(10);
  expect(rest.toString("utf8", 0, readSync(pipe.read, rest))).toBe("rest");
  writeSync(pipe.write, "nonsense\n");
  expect(readInitKey(pipe.read)).toBeUndefined();
  closeSync(pipe.write);
  expect(readInitKey(pipe.read)).toBeUndefined();
  closeSync(pipe.read);
});

test("a descriptor that is not a pipe gives no key", () => {
  const fd = openSync("/dev/null", "r");
  expect(readInitKey(fd)).toBeUndefined();
  closeSync(fd);
});
