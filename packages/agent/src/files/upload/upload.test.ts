import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@boxyard/core";
import { BodyBudget } from "../../body/budget.ts";
import { type AgentContext, httpErrorOf } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { upload } from "./upload.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "boxyard-upload-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const clock = new FakeClock();
const me = { name: "me", uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0, shell: "", groups: [] };

function context(): AgentContext {
  const user = { ...me, home };
  return {
    state: { isInitialised: true, defaultUser: "me", defaultWorkdir: undefined, accessToken: undefined, env: {} },
    users: { byName: () => user, userName: String, groupName: String },
    clock,
    bodies: new BodyBudget({ totalBytes: 0, freeBytes: 0, waitMs: 0, collectBytes: 1e9 }, () => {}),
    log() {},
  };
}

/** Files of the test's directory that this process has open, by whatever descriptor. */
function openHere(): string[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(`${home}/`) ? [path] : [];
    } catch {
      return [];
    }
  });
}

async function eventually(reached: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !reached(); await Bun.sleep(2)) if (Date.now() > deadline) throw new Error("not reached");
}

/** Sends the beginning of a request and keeps the connection open. Resolves with the answer when the server has closed the connection. */
function begin(url: URL, type: string, length: number, start: string): Promise<string> {
  const answer = Promise.withResolvers<string>();
  let text = "";
  const head = `POST /files?path=file HTTP/1.1\r\nHost: agent\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`;
  void Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      open: (socket) => void socket.write(head + start),
      data: (_, bytes) => {
        text += bytes.toString();
      },
      close: () => answer.resolve(text),
    },
  });
  return answer.promise;
}

const PART = '--b\r\nContent-Disposition: form-data; name="file"; filename="file"\r\n\r\n';

for (const [kind, type, length, start] of [
  ["a small body", "application/octet-stream", 1_000, "some of it"],
  ["a large body", "application/octet-stream", 10_000_000, "some of it"],
  ["a form", "multipart/form-data; boundary=b", 10_000_000, `${PART}some of it`],
] as const) {
  test(`an upload without data on an open connection: ${kind} is 408 after 640 s, and no file stays open`, async () => {
    const ctx = context();
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: (request) => upload(ctx, { request, signal: request.signal, query: new URL(request.url).searchParams }).catch(httpErrorOf),
    });
    try {
      let answer: string | undefined;
      void begin(server.url, type, length, start).then((text) => {
        answer = text;
      });
      await eventually(() => openHere().length > 0);
      await clock.advance(LIMITS.uploadIdleMs - 10_000);
      expect(answer).toBeUndefined();
      while (answer === undefined) {
        await clock.advance(10_000);
        await Bun.sleep(2);
      }
      expect(answer).toStartWith("HTTP/1.1 408 ");
      expect(answer).toContain("upload aborted: no data for 640 seconds");
      await eventually(() => openHere().length === 0);
      expect(readdirSync(home)).toEqual([]);
    } finally {
      await server.stop(true);
    }
  });
}
