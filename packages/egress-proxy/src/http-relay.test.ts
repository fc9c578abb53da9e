import { expect, test } from "bun:test";
import { type ClientConnection, type Connection, parseRequestHead } from "@boxyard/http1";
import { HttpRelay } from "./http-relay.ts";
import { Rules } from "./rules.ts";

const ADDRESS = "10.208.0.16";
const HOST = "allowed.example";

/** A relay whose peers and whose recording take what the test says. */
function setUp() {
  const state = { clientTakes: true, serverTakes: true, isClientPaused: false, isServerPaused: false };
  const waiting = new Set<() => void>();
  const tap = {
    isBehind: false,
    onDrain: (call: () => void) => void (tap.isBehind ? waiting.add(call) : call()),
    onRequestBody() {},
    onAnswer() {},
    onTunnel() {},
    onEnd() {},
  };
  const server = {
    get isBehind() {
      return !state.serverTakes;
    },
    write: () => state.serverTakes,
    pause() {
      state.isServerPaused = true;
    },
    resume() {
      state.isServerPaused = false;
    },
    destroy() {},
  };
  const client = {
    connection: {
      get isBehind() {
        return !state.clientTakes;
      },
    },
    write: () => state.clientTakes,
    pauseBody() {
      state.isClientPaused = true;
    },
    resumeBody() {
      state.isClientPaused = false;
    },
    abort() {},
    endResponse() {},
  } as unknown as ClientConnection;
  const rules = new Rules();
  rules.set(ADDRESS, { hosts: [HOST], ranges: [] });
  const request = parseRequestHead(`POST / HTTP/1.1\r\nHost: ${HOST}\r\nContent-Length: 100`);
  const route = {
    ...{ claim: { host: HOST }, tap, head: () => Buffer.from("head") },
    reach: () => ({ cancel() {} }),
  };
  const relay = new HttpRelay(rules, ADDRESS, route, request, client);
  relay.onReached(server as unknown as Connection);
  const drainTap = () => {
    tap.isBehind = false;
    for (const call of waiting) call();
    waiting.clear();
  };
  return { relay, state, tap, drainTap };
}

test("the body of a request waits while the disk of its recording is slow", () => {
  const { relay, state, tap, drainTap } = setUp();
  relay.onBody(Buffer.from("one"));
  expect(state.isClientPaused).toBe(false);
  tap.isBehind = true;
  relay.onBody(Buffer.from("two"));
  expect(state.isClientPaused).toBe(true);
  drainTap();
  expect(state.isClientPaused).toBe(false);
});

test("what waited for its peer goes on although other exchanges have filled the recording's queue meanwhile", () => {
  const { relay, state, tap, drainTap } = setUp();
  relay.onData(Buffer.from("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"));
  state.clientTakes = false;
  state.serverTakes = false;
  relay.onData(Buffer.from("of the answer"));
  relay.onBody(Buffer.from("of the request"));
  expect([state.isServerPaused, state.isClientPaused]).toEqual([true, true]);
  tap.isBehind = true;
  state.clientTakes = true;
  state.serverTakes = true;
  relay.onClientDrain();
  relay.onDrain();
  expect([state.isServerPaused, state.isClientPaused]).toEqual([true, true]);
  drainTap();
  expect([state.isServerPaused, state.isClientPaused]).toEqual([false, false]);
});
