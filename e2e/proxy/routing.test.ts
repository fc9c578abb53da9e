import { describe, expect, test } from "bun:test";
import { eventually, staysTrueFor } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { rawRequest } from "../support/raw-http.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const NOBODY = "i00000000000000000000";

interface Request {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit;
}

function send({ path = "/", ...rest }: Request): Promise<Response> {
  return fetch(platform().apiUrl + path, { redirect: "manual", ...rest });
}

/** The three ways to name a port of a sandbox. */
const ROUTES: Record<string, (id: string, port: number) => Record<string, string>> = {
  "Svc- headers": (id, port) => ({ "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": `${port}` }),
  "E2b- headers": (id, port) => ({ "E2b-Sandbox-Id": id, "E2b-Sandbox-Port": `${port}` }),
  "host name": (id, port) => ({ Host: `${port}-${id}.sandboxes.test` }),
};

const ECHO = `
import http.server, json, hashlib
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        length = int(self.headers.get("content-length") or 0)
        digest, left = hashlib.sha256(), length
        while left:
            piece = self.rfile.read(min(left, 1 << 20)); digest.update(piece); left -= len(piece)
        body = json.dumps({"method": self.command, "path": self.path, "host": self.headers["host"], "length": length,
            "sha256": digest.hexdigest(), "mine": self.headers.get("x-mine")}).encode()
        self.send_response(203); self.send_header("content-length", str(len(body))); self.send_header("x-theirs", "yes")
        self.end_headers(); self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer(("0.0.0.0", 8000), H).serve_forever()
`;

async function echoServer(): Promise<HeldSandbox> {
  const sandbox = await createSandbox(platform());
  await sandbox.client.files.write("/tmp/echo.py", ECHO);
  await sandbox.client.commands.run("python3 /tmp/echo.py", { background: true, timeoutMs: 0 });
  await eventually(
    "the echo server answers",
    async () => (await send({ headers: ROUTES["Svc- headers"]?.(sandbox.id, 8000) ?? {} })).status === 203,
  );
  return sandbox;
}

describe.each(Object.entries(ROUTES))("by %s", (_, route) => {
  test("a request reaches the port with method, path, query, headers and body, and the answer comes back whole", async () => {
    await using sandbox = await echoServer();
    const body = "x".repeat(100_000);
    const path = "/a%2Fb/c;d?q=1&q=2&e=%C5%BE";
    const response = await send({ method: "PUT", path, headers: { ...route(sandbox.id, 8000), "X-Mine": "kept" }, body });
    expect(response.status).toBe(203);
    expect(response.headers.get("x-theirs")).toBe("yes");
    const sha256 = new Bun.CryptoHasher("sha256").update(body).digest("hex");
    expect(await response.json()).toMatchObject({ method: "PUT", path, length: 100_000, sha256, mine: "kept" });
  });

  test("a port where nothing listens gives 502 with the sandbox, the port and the text that clients look for", async () => {
    await using sandbox = await createSandbox(platform());
    const response = await send({ headers: route(sandbox.id, 8123) });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({
      sandboxId: sandbox.id,
      sandboxID: sandbox.id,
      message: "The sandbox is running but port is not open",
      port: 8123,
      code: 502,
    });
  });

  test("a sandbox that is not there, or no more, gives 502 with the text that clients look for", async () => {
    const gone = { message: "The sandbox was not found", code: 502 };
    const unknown = await send({ headers: route(NOBODY, 8000) });
    expect(unknown.status).toBe(502);
    expect(await unknown.json()).toMatchObject({ ...gone, sandboxId: NOBODY, sandboxID: NOBODY });

    // docs/contract/routing.md, Answers of the proxy: for compositions too.
    const body = JSON.stringify({ source_paths: ["a"], destination: "b" });
    const composed = await send({ method: "POST", path: "/files/compose", headers: route(NOBODY, 49983), body });
    expect([composed.status, await composed.json()]).toMatchObject([502, { ...gone, sandboxID: NOBODY }]);

    const sandbox = await createSandbox(platform());
    expect((await send({ path: "/health", headers: route(sandbox.id, 49983) })).status).toBe(204);
    await sandbox.client.kill();
    const dead = await send({ path: "/health", headers: route(sandbox.id, 49983) });
    expect(dead.status).toBe(502);
    expect(await dead.json()).toMatchObject({ ...gone, sandboxId: sandbox.id });
  });
});

test("one routing header without the other gives 400", async () => {
  for (const headers of [{ "Svc-Sandbox-Id": NOBODY }, { "E2b-Sandbox-Port": "8000" }]) {
    expect((await send({ headers: headers as Record<string, string> })).status).toBe(400);
  }
  expect((await send({ headers: { "Svc-Sandbox-Id": NOBODY, "Svc-Sandbox-Port": "no" } })).status).toBe(400);
});

test("a large body passes both ways unchanged", async () => {
  await using sandbox = await createSandbox(platform());
  const data = new Uint8Array(200 << 20);
  for (let at = 0; at < data.length; at += 65_536) crypto.getRandomValues(data.subarray(at, at + 65_536));
  const sha256 = new Bun.CryptoHasher("sha256").update(data).digest("hex");
  await sandbox.client.files.write("/tmp/big", data.buffer);
  expect((await sandbox.client.commands.run("sha256sum /tmp/big")).stdout).toStartWith(sha256);
  const back = await sandbox.client.files.read("/tmp/big", { format: "stream" });
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of back as unknown as AsyncIterable<Uint8Array>) hasher.update(chunk);
  expect(hasher.digest("hex")).toBe(sha256);
}, 120_000);

test("the agent's internal routes are 404 through the proxy, however they are spelt", async () => {
  await using sandbox = await createSandbox(platform());
  const headers = ROUTES["Svc- headers"]?.(sandbox.id, 49983) ?? {};
  for (const path of ["/init", "/%69nit", "//init", "/x/../init", "/collapse", "/fsfreeze", "/fsthaw", "/upgrade"]) {
    // Written to the socket as it is: every HTTP client would tidy the path first.
    const { status } = await rawRequest(platform().apiUrl, { method: "POST", path, headers, body: "{}" });
    expect([path, status]).toEqual([path, 404]);
  }
});

test("everything of the agent but health asks for the token", async () => {
  await using sandbox = await createSandbox(platform());
  const headers = ROUTES["Svc- headers"]?.(sandbox.id, 49983) ?? {};
  for (const [method, path] of [
    ["GET", "/metrics"],
    ["GET", "/envs"],
    ["GET", "/files?path=/etc/passwd"],
    ["POST", "/files/compose"],
    ["POST", "/freeze"],
    ["POST", "/process.Process/List"],
  ] as const) {
    const response = await send({ method, path, headers, ...(method === "POST" && { body: "{}" }) });
    expect([path, response.status]).toEqual([path, 401]);
  }
});

test("POST /freeze and /unfreeze with the routing headers and the access token stop a command and let it go on", async () => {
  await using sandbox = await createSandbox(platform());
  const token = (sandbox.client as unknown as { envdAccessToken: string }).envdAccessToken;
  const headers = { "E2b-Sandbox-Id": sandbox.id, "E2b-Sandbox-Port": "49983", "X-Access-Token": token };
  const post = async (path: string) => {
    const response = await send({ method: "POST", path, headers });
    return [response.status, await response.text()];
  };
  const command = await sandbox.client.commands.run("while :; do date +%s%N > /tmp/alive; sleep 0.02; done", { background: true });
  const alive = () => sandbox.client.files.read("/tmp/alive").catch(() => "");
  await eventually("the command runs", async () => (await alive()) !== "");
  expect(await post("/freeze")).toEqual([204, ""]);
  // The file must not change while the command is frozen; else a later change proves nothing.
  const last = await alive();
  await staysTrueFor(200, "nothing is written while it is frozen", async () => (await alive()) === last);
  expect(await post("/unfreeze")).toEqual([204, ""]);
  await eventually("the command goes on", async () => !["", last].includes(await alive()));
  await command.kill();
});

test("a browser's preflight is answered without a sandbox", async () => {
  const headers = {
    Origin: "https://app.example",
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "x-api-key,content-type",
  };
  const response = await send({ method: "OPTIONS", path: "/v2/sandboxes", headers });
  expect(response.status).toBe(204);
  expect(response.headers.get("access-control-allow-origin")).toBe("*");
});
