import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { initialise, startAgent, testAlone } from "./support/agent-under-test.ts";
import { answer, asRoot, download, expectError, postCompose, put } from "./support/files.ts";

let agent: AgentUnderTest;
let open: AgentUnderTest;
beforeAll(async () => {
  [agent, open] = await Promise.all([startAgent(), startAgent({ init: "open" })]);
  await asRoot(agent, "printf hello > /home/user/hello.txt");
});
afterAll(() => Promise.all([agent.stop(), open.stop()]));

/** The algorithm of docs/contract/agent.md, Signed URLs, implemented independently of the agent's code. */
function sign(path: string, operation: "read" | "write", user: string, expiration?: number | string): string {
  const raw = [path, operation, user, agent.token, ...(expiration === undefined ? [] : [expiration])].join(":");
  return `v1_${createHash("sha256").update(raw).digest("base64").replaceAll("=", "")}`;
}

const read = (path: string, query: Record<string, string | undefined>) => download(agent, path, { query, authorised: false });
const now = () => Math.floor(Date.now() / 1000);

describe("signed URLs (docs/contract/agent.md, Signed URLs)", () => {
  test("a token header that matches passes, one that does not is 401", async () => {
    expect((await download(agent, "hello.txt")).status).toBe(200);
    const wrong = await download(agent, "hello.txt", {
      headers: { "X-Access-Token": "nonsense" },
      query: { signature: sign("hello.txt", "read", "") },
    });
    await expectError(wrong, 401, "access token present in header but does not match");
  });

  test("no header and no signature is 401, exactly", async () => {
    expect(await answer(await read("hello.txt", {}))).toEqual({
      status: 401,
      body: { code: 401, message: "missing signature query parameter" },
    });
  });

  test("a signature for the path, operation and user of the query passes", async () => {
    expect(await (await read("hello.txt", { signature: sign("hello.txt", "read", "") })).text()).toBe("hello");
    expect((await read("hello.txt", { username: "user", signature: sign("hello.txt", "read", "user") })).status).toBe(200);
    expect((await read("~/hello.txt", { signature: sign("~/hello.txt", "read", "") })).status).toBe(200);
  });

  test("a signature for anything else is 401, exactly", async () => {
    const wrong = [
      { signature: sign("other.txt", "read", "") },
      { signature: sign("/home/user/hello.txt", "read", "") },
      { signature: sign("hello.txt", "write", "") },
      { signature: sign("hello.txt", "read", "user") },
      { username: "user", signature: sign("hello.txt", "read", "") },
      { signature: sign("hello.txt", "read", "", now() + 100) },
      { signature: sign("hello.txt", "read", ""), signature_expiration: String(now() + 100) },
      { signature: `${sign("hello.txt", "read", "")}=` },
      { signature: sign("hello.txt", "read", "").slice(3) },
      { signature: "v1_" },
    ];
    for (const query of wrong) {
      expect(await answer(await read("hello.txt", query))).toEqual({ status: 401, body: { code: 401, message: "invalid signature" } });
    }
  });

  test("expiration: later passes, this second passes, earlier is 401, exactly; negative counts as earlier", async () => {
    const at = (expiration: number) =>
      read("hello.txt", { signature: sign("hello.txt", "read", "", expiration), signature_expiration: String(expiration) });
    expect((await at(now() + 60)).status).toBe(200);
    const expired = { status: 401, body: { code: 401, message: "signature is already expired" } };
    for (const expiration of [now() - 2, 0, -5]) expect(await answer(await at(expiration))).toEqual(expired);
  });

  test("expiry is looked at only after the signature matches", async () => {
    await expectError(await read("hello.txt", { signature: "v1_x", signature_expiration: "1" }), 401, "invalid signature");
  });

  test("an expiration that is no integer is 400", async () => {
    for (const value of ["soon", "1.5", "", "99999999999999999999", "0x10"]) {
      await expectError(await read("hello.txt", { signature: "v1_x", signature_expiration: value }), 400, /signature_expiration/);
    }
  });

  test("operation write for uploads; without a path it signs the empty text", async () => {
    const upload = (path: string | undefined, signature: string) =>
      put(agent, path, "x", {
        authorised: false,
        query: { signature },
        headers: path === undefined ? { "Content-Type": "multipart/form-data; boundary=b" } : {},
      });
    expect((await upload("up.txt", sign("up.txt", "write", ""))).status).toBe(200);
    await expectError(await upload("up.txt", sign("up.txt", "read", "")), 401, "invalid signature");
    // The signature is accepted, and then the body is refused.
    expect((await upload(undefined, sign("", "write", ""))).status).toBe(400);
  });

  testAlone("the test vector of the contract", async () => {
    const token = agent.token ?? "";
    const signature = "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E";
    await initialise(agent, { accessToken: "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0" });
    try {
      expect(await (await read("hello.txt", { username: "user", signature })).text()).toBe("hello");
      await expectError(await read("hello.txt", { username: "user", signature: signature.toLowerCase() }), 401, "invalid signature");
    } finally {
      await initialise(agent, { accessToken: token });
    }
  });

  test("plus signs that were not escaped are understood", async () => {
    for (let i = 0; ; i++) {
      const path = `no-such-${i}`;
      const signature = sign(path, "read", "");
      if (!signature.includes("+")) continue;
      const response = await fetch(`${agent.baseUrl}/files?path=${path}&signature=${signature}`);
      expect(response.status).toBe(404);
      return;
    }
  });
});

describe("access", () => {
  test("POST /files/compose always needs the header", async () => {
    const signature = sign("", "write", "");
    const response = await postCompose(agent, { source_paths: ["a"], destination: "b" }, { authorised: false, query: { signature } });
    await expectError(response, 401, /^unauthorized access/);
  });

  test("HEAD /files is not on the list of open requests", async () => {
    const response = await download(agent, "hello.txt", { authorised: false, query: { signature: sign("hello.txt", "read", "") } }, "HEAD");
    expect(response.status).toBe(401);
  });

  test("without a token everything is open and signatures are not looked at", async () => {
    const response = await download(open, "/etc/passwd", { query: { username: "root", signature: "nonsense" } });
    expect(response.status).toBe(200);
  });

  test("the signature is checked before user and path", async () => {
    await expectError(await read("~x", { username: "nobody-here", signature: "v1_x" }), 401, "invalid signature");
  });
});
