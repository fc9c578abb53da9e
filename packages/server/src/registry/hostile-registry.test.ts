import { afterEach, beforeEach, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { digestOf, FakeDriver, makeTar } from "@boxyard/driver/fake";
import { Pins } from "../images/pins.ts";
import { Downloads, FetchPolicy, parseImageReference, pullImage, Transport } from "./index.ts";
import { MEDIA } from "./manifest.ts";
import { type Answer, ScriptedRegistry } from "./testing/scripted-registry.ts";

const signal = new AbortController().signal;
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

let script: ScriptedRegistry;
let directory: string;
beforeEach(() => {
  script = new ScriptedRegistry();
  directory = mkdtempSync(join(tmpdir(), "boxyard-pull-"));
});
afterEach(async () => {
  await script.server.stop(true);
  rmSync(directory, { recursive: true, force: true });
});

const driver = () => new FakeDriver();
const pull = (more: Partial<Parameters<typeof pullImage>[0]> = {}) =>
  pullImage({
    reference: parseImageReference(`${script.host}/app:v1`),
    images: driver().images,
    pins: new Pins(),
    transport: new Transport({ fetchPolicy: new FetchPolicy({ privateRegistries: ["127.0.0.1"] }) }),
    downloads: new Downloads(directory),
    signal,
    ...more,
  });
const tarOf = (text: string) => makeTar([{ path: "file", text }]);

test("a token is fetched from the registry's token server, and used for all requests of its scope", async () => {
  script.image([tarOf("a"), tarOf("b")]);
  let tokens = 0;
  script.answer = (request, url) => {
    if (url.pathname === "/token") {
      tokens++;
      expect(request.headers.get("authorization")).toBe(`Basic ${btoa("me:secret")}`);
      expect([url.searchParams.get("service"), url.searchParams.get("scope")]).toEqual(["svc", "repository:app:pull"]);
      return Response.json({ token: "good", expires_in: 300 });
    }
    if (request.headers.get("authorization") === "Bearer good") return undefined;
    const challenge = `Bearer realm="http://${script.host}/token",service="svc",scope="repository:app:pull"`;
    return new Response("{}", { status: 401, headers: { "www-authenticate": challenge } });
  };
  await pull({ credentials: { type: "registry", username: "me", password: "secret" } });
  expect(tokens).toBe(1);
});

test("credentials are not sent to a token server without TLS", async () => {
  script.answer = () => new Response("{}", { status: 401, headers: { "www-authenticate": 'Bearer realm="http://tokens.test/t"' } });
  const credentials = { type: "registry", username: "me", password: "secret" } as const;
  await expect(pull({ credentials })).rejects.toMatchObject({ code: "unavailable", reason: "registry_answer" });
});

test("a redirect to another host gets no credentials", async () => {
  const other = new ScriptedRegistry();
  try {
    const tar = tarOf("elsewhere");
    other.add(tar);
    script.image([tar]);
    script.answer = (request, url) => {
      if (request.headers.get("authorization") === null) {
        return new Response("{}", { status: 401, headers: { "www-authenticate": "Basic realm=x" } });
      }
      return url.pathname.endsWith(digestOf(tar)) ? Response.redirect(`http://${other.host}/x/${digestOf(tar)}`, 307) : undefined;
    };
    await pull({
      credentials: { type: "gcp", serviceAccountJson: JSON.stringify({ type: "service_account", private_key: "k", client_email: "e" }) },
    });
    expect(other.requests).toEqual([{ path: `/x/${digestOf(tar)}`, range: null, authorization: null }]);
    expect(atob(script.requests.at(-1)?.authorization?.slice(6) ?? "")).toStartWith("_json_key:{");
  } finally {
    await other.server.stop(true);
  }
});

test("an interrupted download goes on behind the bytes that came, also after a restart", async () => {
  const tar = makeTar([{ path: "big", text: "0123456789".repeat(50_000) }]);
  script.image([tar]);
  let breaks = 2;
  const broken: Answer = (request, url) => {
    if (!url.pathname.endsWith(digestOf(tar)) || breaks-- <= 0) return undefined;
    const from = Number(/\d+/.exec(request.headers.get("range") ?? "")?.[0] ?? 0);
    const piece = tar.slice(from, from + 100_000);
    const headers = { "content-range": `bytes ${from}-${tar.length - 1}/${tar.length}` };
    return new Response(piece, { status: from > 0 ? 206 : 200, headers });
  };
  script.answer = broken;
  const { images } = driver();
  await pull({ images });
  expect(await images.hasLayer(digestOf(tar))).toBe(true);
  const ranges = () => script.requests.filter(({ path }) => path.endsWith(digestOf(tar))).map(({ range }) => range);
  expect(ranges()).toEqual([null, "bytes=100000-", "bytes=200000-"]);
  // The next pull goes on behind the bytes that a cancelled pull has left.
  breaks = 1;
  const given = new AbortController();
  script.answer = (request, url) => {
    if (breaks === 0 && url.pathname.endsWith(digestOf(tar))) given.abort(new Error("given up"));
    return broken(request, url);
  };
  await expect(pull({ signal: given.signal })).rejects.toThrow("given up");
  expect(readdirSync(directory).length).toBe(1);
  script.requests.length = 0;
  script.answer = () => undefined;
  await pull();
  expect(ranges()).toEqual(["bytes=100000-"]);
  expect(readdirSync(directory)).toEqual([]);
}, 20_000);

test("from a registry without ranges the download begins anew", async () => {
  const tar = makeTar([{ path: "big", text: "0123456789".repeat(50_000) }]);
  script.image([tar]);
  let first = true;
  script.answer = (_, url) => {
    if (!url.pathname.endsWith(digestOf(tar))) return undefined;
    const piece = first ? tar.slice(0, 100_000) : tar;
    first = false;
    return new Response(piece);
  };
  await pull();
  const asked = script.requests.filter(({ path }) => path.endsWith(digestOf(tar)));
  expect(asked.map(({ range }) => range)).toEqual([null, "bytes=100000-"]);
  expect(readdirSync(directory)).toEqual([]);
}, 20_000);

test("a registry on this machine is reached past the machine's proxy", async () => {
  script.image([tarOf("near")]);
  const before = process.env.HTTP_PROXY;
  process.env.HTTP_PROXY = "http://127.0.0.1:1";
  try {
    await pull();
  } finally {
    if (before === undefined) delete process.env.HTTP_PROXY;
    else process.env.HTTP_PROXY = before;
  }
});

test("a blob or manifest with another digest is refused", async () => {
  const tar = tarOf("good");
  script.image([tar]);
  const evil = tarOf("evil");
  script.answer = (_, url) => (url.pathname.endsWith(digestOf(tar)) ? new Response(evil) : undefined);
  const { images } = driver();
  await expect(pull({ images })).rejects.toMatchObject({ code: "data_loss", reason: "bad_digest" });
  script.answer = (_, url) => (url.pathname.endsWith(digestOf(tar)) ? new Response(Buffer.concat([tar, tar])) : undefined);
  await expect(pull({ images })).rejects.toMatchObject({ code: "data_loss", reason: "bad_digest" });
  const other = digestOf(script.top.bytes).replace(/.$/, (last) => (last === "0" ? "1" : "0"));
  const reference = parseImageReference(`${script.host}/app@${other}`);
  await expect(pull({ reference })).rejects.toMatchObject({ code: "data_loss", reason: "bad_digest" });
  expect(await images.listLayers()).toEqual([]);
});

test("the machine's platform is chosen from an index, zstd is unpacked, and repeated and too many layers become fewer", async () => {
  const tars = Array.from({ length: 24 }, (_, i) => tarOf(`layer ${i}`));
  tars.splice(5, 0, tars[3] as Uint8Array<ArrayBuffer>);
  const zstd = (tar: Uint8Array) => new Uint8Array(Bun.zstdCompressSync(tar as Uint8Array<ArrayBuffer>));
  const { bytes } = script.image(tars, zstd, "application/vnd.oci.image.layer.v1.tar+zstd");
  const digest = script.add(bytes);
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const entry = (os: string, arch: string, of = digest) => ({
    mediaType: MEDIA.manifest,
    digest: of,
    size: bytes.length,
    platform: { os, architecture: arch },
  });
  const foreign = entry("linux", "riscv64", `sha256:${"0".repeat(64)}`);
  const index = { schemaVersion: 2, mediaType: MEDIA.index, manifests: [foreign, entry("linux", architecture)] };
  script.top = { bytes: json(index), mediaType: MEDIA.index };
  const { images } = driver();
  const pins = new Pins();
  using pulled = await pull({ images, pins, spareLayers: 10 });
  expect(pulled.sourceDigest).toBe(digest);
  expect(pulled.image.digest).not.toBe(digest);
  expect(pulled.image.layers.length).toBe(images.capabilities.maxLayers - 10);
  expect(pulled.image.layers.slice(1)).toEqual(tars.slice(-9).map(digestOf));
  for (const layer of pulled.image.layers) expect([await images.hasLayer(layer), pins.isPinned(layer)]).toEqual([true, true]);
  script.top = { bytes: json({ ...index, manifests: [foreign] }), mediaType: MEDIA.index };
  await expect(pull()).rejects.toMatchObject({ code: "failed_precondition", reason: "image_platform" });
});

test.each<[string, unknown]>([
  ["that is not JSON", undefined],
  ["of an old format", { schemaVersion: 1, fsLayers: [] }],
  ["of another kind", { schemaVersion: 2, mediaType: "application/vnd.helm.chart" }],
  ["with a bad digest", { schemaVersion: 2, mediaType: MEDIA.manifest, config: { digest: "sha256:../../etc", size: 1 }, layers: [] }],
  [
    "with layers elsewhere",
    {
      schemaVersion: 2,
      mediaType: MEDIA.manifest,
      config: { digest: `sha256:${"1".repeat(64)}`, size: 1 },
      layers: [{ mediaType: "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", digest: `sha256:${"1".repeat(64)}`, size: 1 }],
    },
  ],
])("a manifest %s is refused", async (_, manifest) => {
  script.top = { bytes: manifest === undefined ? new TextEncoder().encode("<html>") : json(manifest), mediaType: MEDIA.manifest };
  await expect(pull()).rejects.toMatchObject({ code: "invalid_argument", reason: "bad_image" });
});

test("nothing is fetched of an image that announces more bytes than allowed", async () => {
  const tar = tarOf("small");
  script.image([tar]);
  const manifest = JSON.parse(new TextDecoder().decode(script.top.bytes)) as { layers: { size: number }[] };
  for (const layer of manifest.layers) layer.size = 2 ** 40;
  script.top = { ...script.top, bytes: json(manifest) };
  await expect(pull()).rejects.toMatchObject({ code: "resource_exhausted", reason: "image_too_large" });
  expect(script.requests.some(({ path }) => path.endsWith(digestOf(tar)))).toBe(false);
});

test("an endless answer is refused, and a busy registry reported", async () => {
  script.answer = (_, url) =>
    url.pathname.includes("/manifests/")
      ? new Response(new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(1 << 20)) }))
      : undefined;
  await expect(pull()).rejects.toMatchObject({ code: "unavailable", reason: "registry_answer" });
  script.answer = () => new Response("{}", { status: 429 });
  await expect(pull()).rejects.toMatchObject({ code: "resource_exhausted", reason: "registry_busy" });
});

const aws = { type: "aws", awsAccessKeyId: "AKIDEXAMPLE", awsSecretAccessKey: "wJalrXUtnFEMI", awsRegion: "eu-north-1" } as const;

/** Signs a request as AWS does to check its signature (Signature Version 4). */
async function signatureOf(request: Request, secret: string): Promise<string> {
  const sign = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();
  const [, day = "", region = "", signed = ""] =
    /Credential=\w+\/(\d{8})\/([\w-]+)\/ecr\/aws4_request, SignedHeaders=([a-z;-]+),/.exec(request.headers.get("authorization") ?? "") ??
    [];
  const headers = signed.split(";").map((name) => `${name}:${(request.headers.get(name) ?? "").trim()}\n`);
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  const canonical = `POST\n/\n\n${headers.join("")}\n${signed}\n${hash(await request.text())}`;
  const text = `AWS4-HMAC-SHA256\n${request.headers.get("x-amz-date")}\n${day}/${region}/ecr/aws4_request\n${hash(canonical)}`;
  const key = sign(sign(sign(sign(`AWS4${secret}`, day), region), "ecr"), "aws4_request");
  return sign(key, text).toString("hex");
}

test("AWS gives a password for a request with the right signature", async () => {
  script.image([tarOf("aws")]);
  script.answer = async (request, url) => {
    if (request.method === "POST" && url.pathname === "/") {
      expect(request.headers.get("x-amz-target")).toEndWith(".GetAuthorizationToken");
      const authorization = request.headers.get("authorization") ?? "";
      expect(authorization).toContain("Credential=AKIDEXAMPLE/");
      expect(authorization).toContain("SignedHeaders=content-type;host;x-amz-date;x-amz-target,");
      if (!authorization.endsWith(`Signature=${await signatureOf(request, aws.awsSecretAccessKey)}`)) {
        return Response.json({ __type: "InvalidSignatureException" }, { status: 400 });
      }
      return Response.json({ authorizationData: [{ authorizationToken: btoa("AWS:token") }] });
    }
    if (request.headers.get("authorization") === `Basic ${btoa("AWS:token")}`) return undefined;
    return new Response("{}", { status: 401, headers: { "www-authenticate": "Basic" } });
  };
  await pull({ credentials: aws });
  const wrong = { ...aws, awsSecretAccessKey: "another" };
  await expect(pull({ credentials: wrong })).rejects.toMatchObject({ code: "permission_denied", reason: "registry_denied" });
  const reference = parseImageReference("registry.test/app");
  await expect(pull({ credentials: aws, reference })).rejects.toMatchObject({ reason: "invalid_registry_credentials" });
});

test.each([
  ["no JSON", "<html>"],
  ["no token", "{}"],
  ["a token without a password", JSON.stringify({ authorizationData: [{ authorizationToken: btoa("AWS") }] })],
])("an answer of AWS with %s is an error of the registry", async (_, text) => {
  script.answer = (request) => (request.method === "POST" ? new Response(text) : undefined);
  await expect(pull({ credentials: aws })).rejects.toMatchObject({ code: "unavailable", reason: "registry_answer" });
});

test.each(["{}", "no JSON", JSON.stringify({ type: "authorized_user", private_key: "k", client_email: "e" })])(
  "a key file of Google such as %p is refused before anything is sent",
  async (serviceAccountJson) => {
    await expect(pull({ credentials: { type: "gcp", serviceAccountJson } })).rejects.toMatchObject({
      code: "invalid_argument",
      reason: "invalid_registry_credentials",
    });
    expect(script.requests).toEqual([]);
  },
);

test("old partial downloads are removed, except those in progress", async () => {
  const downloads = new Downloads(directory);
  const old = Date.now() / 1000 - 3600;
  const part = (digit: string) => join(directory, `${digit.repeat(64)}.part`);
  for (const digit of ["1", "2", "3"]) writeFileSync(part(digit), "half");
  for (const digit of ["1", "2"]) utimesSync(part(digit), old, old);
  const abort = new AbortController();
  const fetching = downloads.fetch(
    { mediaType: "", digest: `sha256:${"2".repeat(64)}`, size: 10 },
    { signal: abort.signal },
    async (_from, stop) => {
      // Time alone: a source that hangs until it is told to stop.
      await sleep(60_000, undefined, { signal: stop });
      throw new Error("the download was not cancelled");
    },
  );
  fetching.catch(() => {});
  downloads.removeOld(60_000);
  expect(
    readdirSync(directory)
      .map((name) => name[0] ?? "")
      .sort(),
  ).toEqual(["2", "3"]);
  abort.abort(new Error("enough"));
  await expect(fetching).rejects.toThrow("enough");
});
