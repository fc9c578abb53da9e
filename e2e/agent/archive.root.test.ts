import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot, expectError } from "./support/files.ts";

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
  await asRoot(
    agent,
    "mkdir -p /home/user/tree/sub && echo one >/home/user/tree/a && echo two >/home/user/tree/sub/b && touch /home/user/file",
  );
  // More than what waits between the agent and a client that does not read.
  await asRoot(agent, "mkdir /home/user/big && truncate -s 1G /home/user/big/sparse");
});
afterAll(() => agent.stop());

const get = (path: string, signal?: AbortSignal) =>
  fetch(new URL(`/boxyard/archive?path=${encodeURIComponent(path)}`, agent.baseUrl), {
    headers: authorised(agent),
    signal: signal ?? null,
  });

test("a directory as a tar, relative to the home or absolute", async () => {
  for (const path of ["tree", "/home/user/tree", "~/tree"]) {
    const response = await get(path);
    const headers = ["content-type", "content-disposition"].map((name) => response.headers.get(name));
    expect([response.status, ...headers]).toEqual([200, "application/x-tar", "inline; filename=tree.tar"]);
    const tar = Bun.spawn(["tar", "-xOf", "-"], { stdin: new Blob([await response.arrayBuffer()]) });
    expect(await new Response(tar.stdout).text()).toBe("one\ntwo\n");
  }
});

test("a file, a missing path and no token are refused", async () => {
  await expectError(await get("file"), 400, "path '/home/user/file' is not a directory");
  await expectError(await get("none"), 404, "path '/home/user/none' does not exist");
  expect((await fetch(new URL("/boxyard/archive?path=tree", agent.baseUrl))).status).toBe(401);
});

test("eight are sent at a time; one whose reader has gone makes room", async () => {
  const gone = new AbortController();
  for (let count = 0; count < 8; count++) await (await get("big", gone.signal)).body?.getReader().read();
  await expectError(await get("tree"), 429, "8 archives are sent already; try again when one has ended");
  gone.abort();
  await eventually("there is room again", async () => (await get("tree")).status === 200);
});
