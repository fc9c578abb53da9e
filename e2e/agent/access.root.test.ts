import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { initialise, startAgent } from "./support/agent-under-test.ts";
import { unary } from "./support/rpc.ts";
import { collect, run, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const TEXT = "unauthorized access, please provide a valid access token or method signing if supported";
const request = (method: string, path: string, headers: Record<string, string> = {}) =>
  fetch(`${agent.baseUrl}${path}`, { method, headers, redirect: "manual" });

describe("access token", () => {
  const guarded = [
    ["GET", "/metrics"],
    ["GET", "/envs"],
    ["POST", "/files/compose"],
    ["POST", "/freeze"],
    ["POST", "/unfreeze"],
    ["POST", "/process.Process/List"],
    ["POST", "/process.Process/Start"],
    ["POST", "/filesystem.Filesystem/Stat"],
    ["PUT", "/files"],
    ["HEAD", "/files"],
    ["POST", "/health"],
    ["GET", "/init"],
    ["GET", "/no/such/path"],
    ["POST", "/files/"],
    ["POST", "//files/compose"],
  ] as const;
  for (const [method, path] of guarded) {
    test(`${method} ${path} needs the token`, async () => {
      for (const headers of [{}, { "X-Access-Token": "" }, { "X-Access-Token": "wrong" }, { "X-Access-Token": `${agent.token}x` }]) {
        const response = await request(method, path, headers);
        expect(response.status).toBe(401);
        if (method !== "HEAD") expect(await response.json()).toEqual({ code: 401, message: TEXT });
      }
    });
  }

  test("GET /health is open: 204, empty", async () => {
    const response = await request("GET", "/health");
    expect([response.status, await response.text(), response.headers.get("cache-control")]).toEqual([204, "", "no-store"]);
  });

  test("GET and POST /files ask for a signature instead, POST /init for its own key", async () => {
    expect(await (await request("GET", "/files?path=/etc/passwd")).json()).toEqual({
      code: 401,
      message: "missing signature query parameter",
    });
    expect((await request("POST", "/files?path=/tmp/x")).status).toBe(401);
    expect((await request("POST", "/init")).status).toBe(401);
  });

  test("with the token, an unknown path is 404 and a wrong method 405, as JSON", async () => {
    const headers = { "X-Access-Token": agent.token ?? "" };
    const missing = await request("GET", "/no/such", headers);
    expect([missing.status, (await missing.json()).code]).toEqual([404, 404]);
    const wrong = await request("DELETE", "/files", headers);
    expect([wrong.status, (await wrong.json()).code, wrong.headers.get("allow")]).toEqual([405, 405, "GET, HEAD, POST"]);
    expect((await request("GET", "/process.Process/List", headers)).status).toBe(405);
  });

  test("internal paths in another spelling are the same paths", async () => {
    for (const path of ["/%69nit", "/in%69t"])
      expect((await request("POST", path, { "X-Access-Token": agent.token ?? "" })).status).toBe(401);
  });
});

describe("CORS", () => {
  test("a preflight is answered before any token is asked for", async () => {
    const response = await request("OPTIONS", "/process.Process/Start", {
      Origin: "https://app.example",
      "Access-Control-Request-Method": "POST",
      "Access-Control-Request-Headers": "x-access-token,connect-protocol-version",
    });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toBe("HEAD, GET, POST, PUT, PATCH, DELETE");
    expect(response.headers.get("access-control-allow-headers")).toBe("x-access-token,connect-protocol-version");
    expect(response.headers.get("access-control-max-age")).toBe("7200");
  });

  test("answers, errors too, may be read by any origin, with the headers that clients need", async () => {
    const exposed = (await request("GET", "/health", { Origin: "https://app.example" })).headers.get("access-control-expose-headers");
    for (const name of ["Location", "Cache-Control", "X-Content-Type-Options", "Content-Disposition", "Content-Range"])
      expect(exposed).toContain(name);
    for (const path of ["/health", "/metrics"]) {
      expect((await request("GET", path, { Origin: "https://app.example" })).headers.get("access-control-allow-origin")).toBe("*");
    }
  });
});

describe("POST /init", () => {
  const init = (headers: Record<string, string>, body: string) => fetch(`${agent.baseUrl}/init`, { method: "POST", headers, body });
  const key = () => ({ "X-Init-Key": agent.initKey ?? "" });
  const envs = async (): Promise<Record<string, string>> =>
    (await fetch(`${agent.baseUrl}/envs`, { headers: { "X-Access-Token": agent.token ?? "" } })).json();

  test("needs the init key always, the access token does not help", async () => {
    for (const headers of [{}, { "X-Init-Key": "" }, { "X-Init-Key": "wrong" }, { "X-Access-Token": agent.token ?? "" }]) {
      expect((await init(headers, "{}")).status).toBe(401);
    }
  });

  test("answers 204 with no-store and X-Envd-Version, also for an empty body", async () => {
    for (const body of ["", "{}", '{"lifecycleID":"x","volumeMounts":[],"accessToken":null}']) {
      const response = await init(key(), body);
      expect([response.status, response.headers.get("cache-control"), response.headers.get("x-envd-version")]).toEqual([
        204,
        "no-store",
        "0.6.13",
      ]);
    }
  });

  test("a bad body is 400 with the member named, and changes nothing", async () => {
    const bodies = [
      "{",
      "[]",
      '"x"',
      '{"envVars":{"A":1}}',
      '{"envVars":[]}',
      '{"defaultUser":1}',
      '{"timestamp":"yesterday"}',
      '{"envVars":{"A=B":"x"}}',
      '{"hyperloopIP":"x;y"}',
      '{"volumeMounts":[{"nfs_target":"a","path":"/b"}]}',
    ];
    for (const body of bodies) {
      const response = await init(key(), body);
      expect([body, response.status]).toEqual([body, 400]);
      expect(Object.keys(await response.json())).toEqual(["code", "message"]);
    }
  });

  test("the environment is replaced, not merged; E2B_* stands above it; every process gets it", async () => {
    await initialise(agent, {
      envVars: { A: "1", B: "2", E2B_SANDBOX: "no", E2B_SANDBOX_ID: "fake" },
      sandboxID: "isandbox",
      templateID: "tmpl",
    });
    expect(await envs()).toEqual({ A: "1", B: "2", E2B_SANDBOX: "true", E2B_SANDBOX_ID: "isandbox", E2B_TEMPLATE_ID: "tmpl" });
    await initialise(agent, { envVars: { C: "3" } });
    expect(await envs()).toEqual({ C: "3", E2B_SANDBOX: "true", E2B_SANDBOX_ID: "isandbox", E2B_TEMPLATE_ID: "tmpl" });
    expect(
      (await run(agent, "echo $C$A $E2B_SANDBOX_ID; cat /run/e2b/.E2B_SANDBOX /run/e2b/.E2B_SANDBOX_ID /run/e2b/.E2B_TEMPLATE_ID")).stdout,
    ).toBe("3 isandbox\ntrueisandboxtmpl");
    expect((await run(agent, "stat -c %a /run/e2b/.E2B_SANDBOX_ID")).stdout).toBe("444\n");
    await initialise(agent, { envVars: {} });
  });

  test("an older timestamp changes nothing, an equal or newer one does", async () => {
    await initialise(agent, { timestamp: "2030-01-01T00:00:00.000000002Z", envVars: { T: "new" } });
    await initialise(agent, { timestamp: "2030-01-01T00:00:00.000000001Z", envVars: { T: "old" }, defaultUser: "other" });
    expect((await envs()).T).toBe("new");
    await initialise(agent, { timestamp: "2030-01-01T00:00:00.000000002Z", envVars: { T: "equal" } });
    expect((await envs()).T).toBe("equal");
    expect((await run(agent, "id -un")).stdout).toBe("user\n");
  });

  test("defaultUser and defaultWorkdir are used where a request names none", async () => {
    await initialise(agent, { defaultUser: "root", defaultWorkdir: "/tmp" });
    expect((await run(agent, "id -un; pwd")).stdout).toBe("root\n/tmp\n");
    const relative = await collect(await start(agent, { process: { cmd: "pwd", cwd: "." } }));
    expect(relative.stdout).toBe("/root\n");
    await initialise(agent, { defaultUser: "user", defaultWorkdir: "" });
    expect((await run(agent, "id -un; pwd")).stdout).toBe("user\n/home/user\n");
  });

  test("the access token rotates, at once, and empty means none is asked for", async () => {
    const old = agent.token ?? "";
    const status = async (token: string) => (await fetch(`${agent.baseUrl}/envs`, { headers: { "X-Access-Token": token } })).status;
    await initialise(agent, { accessToken: "second" });
    expect([await status(old), await status("second")]).toEqual([401, 200]);
    await initialise(agent, {});
    expect(await status("second")).toBe(200);
    await initialise(agent, { accessToken: "" });
    expect((await fetch(`${agent.baseUrl}/envs`)).status).toBe(200);
    await initialise(agent, { accessToken: old });
    expect([await status("second"), await status(old)]).toEqual([401, 200]);
  });

  test("hyperloopIP gives events.e2b.local in the hosts file and E2B_EVENTS_ADDRESS, once", async () => {
    await initialise(agent, { hyperloopIP: "192.0.2.7" });
    await initialise(agent, { hyperloopIP: "192.0.2.8" });
    expect((await envs()).E2B_EVENTS_ADDRESS).toBe("http://192.0.2.8");
    expect((await run(agent, "grep events.e2b.local /etc/hosts")).stdout).toBe("192.0.2.8 events.e2b.local\n");
  });

  test("caBundle is added to the trusted certificates, replaced by the next, taken away by an empty one", async () => {
    const count = async (word: string) => Number((await run(agent, `grep -c ${word} /etc/ssl/certs/ca-certificates.crt`)).stdout);
    const before = await count("BEGIN");
    const pem = (name: string) => `-----BEGIN CERTIFICATE-----\n${name}\n-----END CERTIFICATE-----\n`;
    await initialise(agent, { caBundle: pem("first") });
    expect([await count("BEGIN"), await count("first")]).toEqual([before + 1, 1]);
    await initialise(agent, { caBundle: pem("second") });
    expect([await count("BEGIN"), await count("first"), await count("second")]).toEqual([before + 1, 0, 1]);
    await initialise(agent, { caBundle: "" });
    expect(await count("BEGIN")).toBe(before);
  });
});

test("a FIFO or a link to a device in the place of a file that /init writes is 400, and the agent goes on", async () => {
  const guest = await startAgent({
    prepare:
      "rm -f /etc/hosts /etc/ssl/certs/ca-certificates.crt && mkfifo /etc/hosts && ln -s /dev/full /etc/ssl/certs/ca-certificates.crt",
  });
  try {
    const headers = { "X-Init-Key": guest.initKey ?? "" };
    for (const body of ['{"hyperloopIP":"192.0.2.7"}', '{"caBundle":"pem"}']) {
      const response = await fetch(`${guest.baseUrl}/init`, { method: "POST", headers, body });
      expect([response.status, (await response.json()).message]).toEqual([400, expect.stringMatching(/^\/etc\/.* can't be written$/)]);
    }
    expect((await run(guest, "stat -c %F /etc/hosts; readlink /etc/ssl/certs/ca-certificates.crt")).stdout).toBe("fifo\n/dev/full\n");
    // With a reader the FIFO can be opened; the agent must not write into it, since another user may read.
    const reader = run(guest, "timeout 1 cat /etc/hosts", { user: "root" });
    expect((await fetch(`${guest.baseUrl}/init`, { method: "POST", headers, body: '{"hyperloopIP":"192.0.2.7"}' })).status).toBe(400);
    expect((await reader).stdout).toBe("");
  } finally {
    await guest.stop();
  }
});

describe("the first /init", () => {
  test("before it no command runs and no file is read, for any client; after it without a token everybody is let in", async () => {
    const fresh = await startAgent({ init: "none" });
    try {
      const list = () => unary(fresh, "process.Process/List", {});
      expect(await list()).toMatchObject({ status: 401, body: { message: expect.stringContaining("not initialised") } });
      expect((await fetch(`${fresh.baseUrl}/files?path=/etc/passwd&username=root`)).status).toBe(401);
      expect((await fetch(`${fresh.baseUrl}/health`)).status).toBe(204);
      await expect(initialise({ ...fresh, initKey: "another" }, {})).rejects.toThrow("401");
      expect((await list()).status).toBe(401);
      await initialise(fresh, {});
      expect((await list()).status).toBe(200);
    } finally {
      await fresh.stop();
    }
  });

  test("without a token everything is open, and a command without a user is unauthenticated: no user specified", async () => {
    const fresh = await startAgent({ init: "open" });
    try {
      expect((await unary(fresh, "process.Process/List", {})).body).toEqual({});
      expect((await run(fresh, "true")).error).toEqual({ code: "unauthenticated", message: "no user specified" });
      expect((await run(fresh, "id -un", { user: "root" })).stdout).toBe("root\n");
    } finally {
      await fresh.stop();
    }
  });
});
