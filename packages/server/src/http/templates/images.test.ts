import { afterAll, beforeAll, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { FakeDriver, makeTar } from "@boxyard/driver/fake";
import type { PushEvent } from "@boxyard/spec/platform";
import { FetchPolicy, parseImageReference, pushImage, Transport } from "../../registry/index.ts";
import { NO_SETTINGS } from "../../registry/testing/no-settings.ts";
import { startRegistry, type TestRegistry } from "../../registry/testing/registry-process.ts";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let bench: BuildBench;
let registry: TestRegistry;
const login = { username: "tester", password: "the-secret-password" };
beforeAll(async () => {
  registry = await startRegistry({ login });
  s = await TestServer.start({ env: { BOXYARD_PRIVATE_REGISTRIES: "127.0.0.1" } });
  bench = new BuildBench(s);
  await seed(`${registry.host}/seed`);
  const built = await bench.build("app", {
    fromImage: `${registry.host}/seed`,
    fromImageRegistry: { type: "registry", ...login },
    steps: [
      { type: "ENV", args: ["GREETING", "hi"] },
      { type: "RUN", args: ["true"] },
    ],
    startCmd: "serve it",
    readyCmd: "true",
  });
  expect(built.status).toBe("ready");
});
afterAll(async () => {
  await s[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

/** An image with a layer of its own, whose digest is right: the fake base's is not. */
async function seed(name: string): Promise<void> {
  const signal = new AbortController().signal;
  const { images } = new FakeDriver();
  const { digest } = await images.importLayer(new Blob([makeTar([{ path: "file", text: "seed" }])]).stream(), { signal });
  const image = { layers: [digest], settings: NO_SETTINGS };
  const directory = join(s.config.dataDir, "downloads");
  const credentials = { type: "registry", ...login } as const;
  await pushImage({
    reference: parseImageReference(name),
    image,
    images,
    credentials,
    transport: new Transport({ fetchPolicy: new FetchPolicy({ privateRegistries: ["127.0.0.1"] }) }),
    directory,
    signal,
  });
}

const key = () => ({ "X-API-Key": s.apiKey, "Content-Type": "application/json" });
const pushRequest = (template: string, body: object, signal?: AbortSignal) =>
  fetch(`${s.url}/boxyard/templates/${encodeURIComponent(template)}/push`, {
    method: "POST",
    headers: key(),
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
const archive = (template: string) => fetch(`${s.url}/boxyard/templates/${encodeURIComponent(template)}/archive`, { headers: key() });

async function push(
  reference: string,
  registryAccess: object | undefined = { type: "registry", ...login },
  template = "app",
): Promise<PushEvent[]> {
  const response = await pushRequest(template, { reference, ...(registryAccess && { registry: registryAccess }) });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-ndjson"]);
  const lines = (await response.text()).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line) as PushEvent);
}

async function importArchive(name: string, bytes: Uint8Array<ArrayBuffer>, body: object = {}) {
  const of = await bench.request(name);
  const hash = createHash("sha256").update(bytes).digest("hex");
  const { url } = (await s.call("GET", `/templates/${of.templateID}/files/${hash}`)).body;
  expect((await fetch(url, { method: "PUT", body: bytes })).status).toBe(200);
  const started = await s.call("POST", `/v2/templates/${of.templateID}/builds/${of.buildID}`, { fromArchive: hash, ...body });
  expect(started.status).toBe(202);
  return { of, ...(await bench.ended(of)) };
}

const specOf = (name: string) => s.server.context.templates.resolve(teamId(), name).spec;
const teamId = () => s.server.context.templates.find("" as never, "base").record.teamId;

test("a pushed template is an image that a build can begin with; a second push sends nothing", async () => {
  const events = await push(`${registry.host}/team/app:v1`);
  const layers = specOf("app").image.layers.length;
  const done = events.at(-1);
  expect(done).toEqual({ type: "done", reference: `${registry.host}/team/app:v1`, digest: expect.stringMatching(/^sha256:/) });
  expect(events.at(-2)).toMatchObject({ type: "progress", layersDone: layers, layers });
  const again = await push(`${registry.host}/team/app:again`);
  expect(again.at(-1)).toMatchObject({ digest: (done as { digest: string }).digest });
  expect(again.findLast(({ type }) => type === "progress")).toMatchObject({ bytesSent: 0 });
  const other = await bench.build("back", { fromImage: `${registry.host}/team/app:v1`, fromImageRegistry: { type: "registry", ...login } });
  expect([other.status, specOf("back").env.GREETING]).toEqual(["ready", "hi"]);
  expect(await bench.log(other.of)).toContainEqual(expect.stringMatching(/^\[base\] fetched 100 % of 1 MiB, /));
  expect(specOf("back").image.layers.slice(0, layers)).toEqual([...specOf("app").image.layers]);
});

test("the last line of a push is its result; an invalid request has an error status", async () => {
  const failed = (reason: string) => ({ type: "failed", reason, message: expect.any(String), code: expect.any(String) }) as const;
  expect((await push(`${registry.host}/team/app`, { type: "registry", ...login, password: "wrong" })).at(-1)).toEqual(
    failed("registry_denied"),
  );
  expect((await push("127.0.0.1:1/app")).at(-1)).toEqual(failed("registry_unreachable"));
  const bad: [string, object, number, string][] = [
    ["app", { reference: "" }, 400, "reference"],
    ["app", { reference: "no-registry" }, 400, "names no registry"],
    ["app", { reference: `h.test/a@sha256:${"1".repeat(64)}` }, 400, "reference"],
    ["app", { reference: "h.test/a", registry: { type: "other" } }, 400, "registry"],
    ["app", {}, 400, "reference: is required"],
    ["app:nope", { reference: "h.test/a" }, 404, "nope"],
    ["nope", { reference: "h.test/a" }, 404, "nope"],
    ["a b", { reference: "h.test/a" }, 400, "templateID"],
  ];
  for (const [template, body, status, word] of bad) {
    const response = await pushRequest(template, body);
    const { message } = (await response.json()) as { message: string };
    expect([response.status, message]).toEqual([status, expect.stringContaining(word)]);
  }
  const denied = await fetch(`${s.url}/boxyard/templates/app/archive`);
  expect(denied.status).toBe(401);
});

test("a push ends with its request, and leaves no files", async () => {
  const asked = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const silent = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) => {
      request.signal.addEventListener("abort", () => left.resolve());
      asked.resolve();
      return new Promise<Response>(() => {});
    },
  });
  const abort = new AbortController();
  const response = pushRequest("app", { reference: `127.0.0.1:${silent.port}/app` }, abort.signal).then((r) => r.text());
  await asked.promise;
  abort.abort();
  await expect(response).rejects.toThrow();
  await left.promise;
  await silent.stop(true);
  expect(readdirSync(join(s.config.dataDir, "downloads"))).toEqual([]);
});

test("an exported archive has the length that was said, and comes in again as the same template", async () => {
  const response = await archive("app");
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/x-tar"]);
  const bytes = await response.bytes();
  expect(String(bytes.length)).toBe(response.headers.get("content-length") ?? "");
  const { status } = await importArchive("copy", bytes);
  expect(status).toBe("ready");
  const [from, to] = [specOf("app"), specOf("copy")];
  expect([to.user, to.workdir, to.env, to.startCmd, to.readyCmd]).toEqual([
    from.user,
    from.workdir,
    from.env,
    from.startCmd,
    from.readyCmd,
  ]);
  expect(to.image.layers.slice(0, from.image.layers.length)).toEqual([...from.image.layers]);
  const own = await importArchive("own", bytes, { startCmd: "other", readyCmd: "sleep 0.1", steps: [{ type: "WORKDIR", args: ["/srv"] }] });
  expect([own.status, specOf("own").startCmd, specOf("own").readyCmd, specOf("own").workdir]).toEqual([
    "ready",
    "other",
    "sleep 0.1",
    "/srv",
  ]);
  expect((await archive("app:nope")).status).toBe(404);
});

test("a file that is not an archive, or a damaged one, fails the build with the reason", async () => {
  const bytes = await (await archive("app")).bytes();
  const damaged = bytes.slice();
  damaged[damaged.length - 5000] = (damaged[damaged.length - 5000] ?? 0) ^ 1;
  const cases: [string, Uint8Array<ArrayBuffer>, string][] = [
    ["none", new TextEncoder().encode("not a tar at all".repeat(100)), "the archive is not a tar"],
    ["empty", new Uint8Array(10240), "there is no index.json"],
    ["cut", bytes.slice(0, bytes.length >> 1), "the archive is cut off"],
    ["damaged", damaged, "of the archive has another digest"],
  ];
  for (const [name, content, words] of cases) {
    const { status, reason } = await importArchive(`bad-${name}`, content);
    expect([status, reason]).toEqual(["error", { message: expect.stringContaining(words), step: "base", logEntries: expect.any(Array) }]);
  }
  expect(readdirSync(join(s.config.dataDir, "downloads"))).toEqual([]);
});

test.each([
  [{ fromArchive: "x" }, "fromArchive: must be 64 hexadecimal digits"],
  [{ fromArchive: "1".repeat(64) }, "fromArchive: no archive was uploaded"],
  [{ fromArchive: "1".repeat(64), fromTemplate: "base" }, "fromArchive: cannot go with"],
])("a build with %j is refused", async (body, message) => {
  const of = await bench.request("refused");
  const reply = await s.call("POST", `/v2/templates/${of.templateID}/builds/${of.buildID}`, body);
  expect([reply.status, reply.body.message]).toEqual([400, expect.stringContaining(message)]);
});

test("credentials are kept nowhere", async () => {
  await push(`${registry.host}/team/secret`);
  const found = Bun.spawnSync(["grep", "-rlF", login.password, s.config.dataDir]);
  expect(found.stdout.toString()).toBe("");
});

test("a server that starts removes the work files of a killed server", async () => {
  const directory = join(s.config.dataDir, "downloads");
  mkdirSync(join(directory, "work-left"), { recursive: true });
  const parts = ["1", "2"].map((digit) => join(directory, `${digit.repeat(64)}.part`));
  for (const part of parts) writeFileSync(part, "half");
  const long = Date.now() / 1000 - 30 * 24 * 3600;
  utimesSync(parts[0] ?? "", long, long);
  await s.stop();
  await using _restarted = await TestServer.start({ world: s.world, dataDir: s.config.dataDir });
  // The younger part is where the next pull of that layer goes on.
  const until = Date.now() + 8000;
  while (readdirSync(directory).length > 1 && Date.now() < until) await Bun.sleep(5);
  expect(readdirSync(directory)).toEqual([`${"2".repeat(64)}.part`]);
});
