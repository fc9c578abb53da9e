import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";
import { portSources } from "./page.ts";

let s: TestServer;
let files: string;
let made = 0;
beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), "boxyard-dashboard-"));
  writeFileSync(join(files, "index.html"), '<script nonce="NONCE" src="/dashboard/assets/main-1.js"></script>');
  writeFileSync(join(files, "main-1.js.gz"), Bun.gzipSync("run()"));
  const dashboardFiles = async () => {
    made += 1;
    if (made === 1) throw new Error("npm <is> missing");
    return files;
  };
  s = await TestServer.start({ dashboardFiles });
});
afterAll(async () => {
  await s[Symbol.asyncDispose]();
  rmSync(files, { recursive: true });
});

const get = (path: string, headers: Record<string, string> = {}) => fetch(s.url + path, { headers, redirect: "manual" });

async function signIn(body: unknown = { apiKey: s.apiKey }, headers: Record<string, string> = {}) {
  const response = await fetch(`${s.url}/dashboard/own/session`, { method: "POST", body: JSON.stringify(body), headers });
  const cookie = /^[^;]+/.exec(response.headers.get("set-cookie") ?? "")?.[0] ?? "";
  const { pageToken = "" } = (await response.json()) as { pageToken?: string };
  return { response, headers: { Cookie: cookie, "Boxyard-Dashboard": pageToken } };
}

test("the first page says that it is being prepared, then why it failed; then it is there", async () => {
  const browser = { Accept: "text/html" };
  const root = await get("/", browser);
  expect([root.status, root.headers.get("location")]).toEqual([302, "/dashboard"]);
  const early = await get("/dashboard");
  expect([early.status, early.headers.has("refresh")]).toEqual([200, true]);
  expect(await early.text()).toContain("is being prepared");
  const failed = await eventually("the failure", async () => {
    const page = await get("/dashboard");
    return page.status === 503 ? page.text() : undefined;
  });
  expect(failed).toContain("npm &lt;is&gt; missing");
  const page = await eventually("the page", async () => {
    const answer = await get("/dashboard/sandboxes/i1/files");
    return answer.headers.has("refresh") ? undefined : answer;
  });
  const policy = page.headers.get("content-security-policy") ?? "";
  const nonce = /'nonce-([^']{20,})'/.exec(policy)?.[1];
  expect(policy).not.toContain("unsafe");
  expect(await page.text()).toBe(`<script nonce="${nonce}" src="/dashboard/assets/main-1.js"></script>`);
  expect((await get("/dashboard")).headers.get("content-security-policy")).not.toBe(policy);
});

test("files are served by their names alone", async () => {
  await eventually("the files", async () => (await get("/dashboard/assets/main-1.js")).status === 200);
  const script = await get("/dashboard/assets/main-1.js");
  expect([script.headers.get("content-type"), await script.text()]).toEqual(["text/javascript; charset=utf-8", "run()"]);
  expect(script.headers.get("cache-control")).toContain("immutable");
  // A worker has this policy.
  expect(script.headers.get("content-security-policy")).toBe("default-src 'none'");
  for (const name of ["none.js", "index.html", "..%2f..%2fapi-key", "main-1.js.gz", "%2e%2e%2fboxyard.db"]) {
    expect((await get(`/dashboard/assets/${name}`)).status).toBe(404);
  }
});

test("the session stands for the key, below /dashboard/api alone", async () => {
  const { response, headers } = await signIn();
  expect(response.status).toBe(201);
  const cookie = response.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(/^boxyard_session_[0-9a-f]{8}=[\w-]{43}; Path=\/dashboard; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  expect(cookie).not.toContain(s.apiKey);
  const listed = await get("/dashboard/api/v2/sandboxes", headers);
  expect([listed.status, await listed.json()]).toEqual([200, []]);
  const who = await get("/dashboard/own/session", headers);
  expect(await who.json()).toMatchObject({ key: { name: "first" }, url: s.url });
  expect((await get("/v2/sandboxes", headers)).status).toBe(401);
  expect((await get("/dashboard/api/dashboard/own/session", headers)).status).toBe(404);
  expect((await get("/dashboard/api/none", headers)).status).toBe(404);
  const settings = await (await get("/dashboard/api/boxyard/settings", headers)).text();
  expect(settings).toContain("BOXYARD_MAX_SANDBOXES");
  expect((await get("/dashboard/api/boxyard/settings")).status).toBe(401);
  const { key } = (await s.call("POST", "/api-keys", { name: "reader", scopes: ["read"] })).body;
  const reader = (await signIn({ apiKey: key })).headers;
  expect((await get("/dashboard/api/boxyard/settings", reader)).status).toBe(403);
  expect((await get("/dashboard/api/sandboxes", reader)).status).toBe(200);
  expect((await fetch(`${s.url}/dashboard/api/v2/sandboxes`, { method: "POST", headers: reader, body: "{}" })).status).toBe(403);
  const created = await fetch(`${s.url}/dashboard/api/v2/sandboxes`, {
    method: "POST",
    headers,
    body: JSON.stringify({ templateID: "base" }),
  });
  expect(created.status).toBe(201);
});

test("one half of a session, a page of another origin, or two cookies are refused", async () => {
  const { headers } = await signIn();
  const refused = async (more: Record<string, string>) => (await get("/dashboard/api/sandboxes", { ...headers, ...more })).status;
  expect(await refused({ "Boxyard-Dashboard": "" })).toBe(401);
  expect(await refused({ Cookie: "" })).toBe(401);
  expect(await refused({ Cookie: `${headers.Cookie}; ${headers.Cookie}x` })).toBe(401);
  for (const site of ["cross-site", "same-site", "none"]) expect(await refused({ "Sec-Fetch-Site": site })).toBe(403);
  expect(await refused({ Origin: "http://evil.example" })).toBe(403);
  expect(await refused({ Origin: "null" })).toBe(403);
  expect(await refused({ Origin: s.url })).toBe(200);
  expect(await refused({ Origin: "http://other.example", "Sec-Fetch-Site": "same-origin" })).toBe(200);
  for (const origin of ["http://evil.example", "null"]) {
    expect((await signIn({ apiKey: s.apiKey }, { Origin: origin })).response.status).toBe(403);
  }
});

test("sign-in refuses what is no key, and a session ends by sign-out and with its key", async () => {
  for (const [body, status] of [
    [{ apiKey: "e2b_00" }, 401],
    [{ link: "none" }, 401],
    [{}, 400],
    [{ apiKey: 1 }, 400],
  ] as const) {
    expect((await signIn(body)).response.status).toBe(status);
  }
  const { headers } = await signIn();
  const out = await fetch(`${s.url}/dashboard/own/session`, { method: "DELETE", headers });
  expect([out.status, out.headers.get("set-cookie")?.includes("Max-Age=0")]).toEqual([204, true]);
  expect((await get("/dashboard/own/session", headers)).status).toBe(401);
  const { key, id } = (await s.call("POST", "/api-keys", { name: "short" })).body;
  const other = await signIn({ apiKey: key });
  expect((await get("/dashboard/own/session", other.headers)).status).toBe(200);
  await s.call("DELETE", `/api-keys/${id}`);
  expect((await get("/dashboard/own/session", other.headers)).status).toBe(401);
});

test("a link of the command signs in once", async () => {
  const made = await fetch(`${s.url}/dashboard/own/links`, { method: "POST", headers: { "X-API-Key": s.apiKey } });
  const { url } = (await made.json()) as { url: string };
  expect(url).toMatch(new RegExp(`^${s.url}/dashboard/sign-in#[\\w-]{43}$`));
  const link = new URL(url).hash.slice(1);
  const { response, headers } = await signIn({ link });
  expect([response.status, (await get("/dashboard/own/session", headers)).status]).toEqual([201, 200]);
  expect((await signIn({ link })).response.status).toBe(401);
  expect((await fetch(`${s.url}/dashboard/own/links`, { method: "POST" })).status).toBe(401);
});

test("frames may show ports of sandboxes on their own host names, and nothing else", () => {
  const at = (host: string) => (name: string) => (name === "host" ? host : undefined);
  const none = { domain: undefined, publicUrl: undefined };
  expect(portSources(none, at("127.0.0.1:3000"))).toBe("http://*.localhost:3000");
  expect(portSources(none, at("localhost"))).toBe("http://*.localhost");
  expect(portSources(none, at("boxyard.example"))).toBe("'none'");
  expect(portSources({ domain: "boxes.example", publicUrl: "https://boxyard.example" }, at("x"))).toBe("https://*.boxes.example");
});
