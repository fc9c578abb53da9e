import { beforeEach, expect, test } from "bun:test";
import { AppError, FakeClock, type TeamId } from "@boxyard/core";
import { hashKey } from "../keys/api-key.ts";
import type { Caller } from "../keys/credentials.ts";
import { DashboardSessions, SESSION_MS } from "./sessions.ts";

const CALLER: Caller = { teamId: "t" as TeamId, keyId: "k", kind: "key", scopes: [] };
let valid: Set<string>;
let clock: FakeClock;
let sessions: DashboardSessions;
beforeEach(() => {
  valid = new Set([hashKey("key")]);
  clock = new FakeClock();
  let count = 0;
  const authenticateHash = async (hash: string) => {
    if (!valid.has(hash)) throw new AppError("unauthenticated", "no such key", { reason: "api_key_invalid" });
    return CALLER;
  };
  sessions = new DashboardSessions({ credentials: { authenticateHash }, clock, secret: () => `secret${++count}` });
});

const reasonOf = (promise: Promise<unknown>) => promise.then(() => "none").catch((error: AppError) => error.reason);

test("a session needs both secrets, and ends by sign-out and by time", async () => {
  const { cookie, pageToken } = await sessions.signIn("key");
  expect(await sessions.callerOf(cookie, pageToken)).toEqual(CALLER);
  for (const [one, other] of [
    [cookie, undefined],
    [undefined, pageToken],
    [cookie, cookie],
    [pageToken, cookie],
    [cookie, `${pageToken}x`],
  ]) {
    expect(await reasonOf(sessions.callerOf(one, other))).toBe("no_session");
  }
  sessions.signOut(cookie);
  expect(await reasonOf(sessions.callerOf(cookie, pageToken))).toBe("no_session");
  const late = await sessions.signIn("key");
  clock.advance(SESSION_MS + 1);
  expect(await reasonOf(sessions.callerOf(late.cookie, late.pageToken))).toBe("no_session");
});

test("a session ends with its key, also when the key comes back", async () => {
  const { cookie, pageToken } = await sessions.signIn("key");
  valid.clear();
  expect(await reasonOf(sessions.callerOf(cookie, pageToken))).toBe("api_key_invalid");
  valid.add(hashKey("key"));
  expect(await reasonOf(sessions.callerOf(cookie, pageToken))).toBe("no_session");
  expect(await reasonOf(sessions.signIn("other"))).toBe("api_key_invalid");
});

test("a link works once, for a minute, and only while its key is valid", async () => {
  const link = await sessions.makeLink("key");
  const { cookie, pageToken } = await sessions.openLink(link);
  expect(await sessions.callerOf(cookie, pageToken)).toEqual(CALLER);
  expect(await reasonOf(sessions.openLink(link))).toBe("link_invalid");
  const late = await sessions.makeLink("key");
  clock.advance(60_001);
  expect(await reasonOf(sessions.openLink(late))).toBe("link_invalid");
  expect(await reasonOf(sessions.makeLink("other"))).toBe("api_key_invalid");
  const revoked = await sessions.makeLink("key");
  valid.clear();
  expect(await reasonOf(sessions.openLink(revoked))).toBe("api_key_invalid");
});

test("the oldest sessions make room for new ones", async () => {
  const first = await sessions.signIn("key");
  for (let i = 0; i < 999; i++) await sessions.signIn("key");
  expect(await sessions.callerOf(first.cookie, first.pageToken)).toEqual(CALLER);
  const last = await sessions.signIn("key");
  expect(await reasonOf(sessions.callerOf(first.cookie, first.pageToken))).toBe("no_session");
  expect(await sessions.callerOf(last.cookie, last.pageToken)).toEqual(CALLER);
});
