import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf, FakeDriver } from "@boxyard/driver/fake";
import { FetchPolicy, parseImageReference, pushImage, Transport } from "./index.ts";
import { NO_SETTINGS } from "./testing/no-settings.ts";

const MIB = 1 << 20;

/** A registry in this process that takes blobs as the distribution specification says, and fails as a test wants it to. */
class TakingRegistry {
  readonly blobs = new Set<string>();
  readonly requests: { readonly method: string; readonly what: string; readonly range: string | null }[] = [];
  /** The bytes of the upload in progress. */
  upload = new Uint8Array();
  /** Asked first, for every request. */
  answer: (request: Request, bytes: Uint8Array) => Response | undefined = () => undefined;
  readonly server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.handle(request), maxRequestBodySize: 256 * MIB });
  readonly host = `127.0.0.1:${this.server.port}`;

  private async handle(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method } = request;
    const bytes = await request.bytes();
    const what = /(manifests|uploads|blobs)\/[^/]*$/.exec(url.pathname)?.[1] ?? "";
    this.requests.push({ method, what, range: request.headers.get("content-range") });
    const scripted = this.answer(request, bytes);
    if (scripted) return scripted;
    if (method === "HEAD") return new Response(null, { status: this.blobs.has(url.pathname.split("/").at(-1) ?? "") ? 200 : 404 });
    const place = { location: "/v2/app/blobs/uploads/1" };
    if (method === "POST") {
      this.upload = new Uint8Array();
      return new Response(null, { status: 202, headers: place });
    }
    if (what === "manifests") return new Response(null, { status: 201 });
    if (method === "GET") return new Response(null, { status: 204, headers: { ...place, range: `0-${this.upload.length - 1}` } });
    if (method === "DELETE") return new Response(null, { status: 204 });
    this.upload = new Uint8Array(Buffer.concat([this.upload, bytes]));
    if (method === "PATCH") return new Response(null, { status: 202, headers: place });
    const wanted = url.searchParams.get("digest") ?? "";
    if (digestOf(this.upload) !== wanted) return Response.json({ errors: [{ code: "DIGEST_INVALID" }] }, { status: 400 });
    this.blobs.add(wanted);
    return new Response(null, { status: 201 });
  }
}

let registry: TakingRegistry;
let directory: string;
beforeEach(() => {
  registry = new TakingRegistry();
  directory = mkdtempSync(join(tmpdir(), "boxyard-push-"));
});
afterEach(async () => {
  await registry.server.stop(true);
  rmSync(directory, { recursive: true, force: true });
});

/** Pushes a layer of noise, which cannot be compressed. */
async function push(bytes: number, signal = new AbortController().signal) {
  const { images } = new FakeDriver();
  const tar = new Uint8Array(bytes);
  for (let at = 0; at < tar.length; at += 65536) crypto.getRandomValues(tar.subarray(at, at + 65536));
  const { digest } = await images.importLayer(new Blob([tar]).stream(), { signal: new AbortController().signal });
  const reference = parseImageReference(`${registry.host}/app:v1`);
  const image = { layers: [digest], settings: NO_SETTINGS };
  return pushImage({
    reference,
    image,
    images,
    transport: new Transport({ fetchPolicy: new FetchPolicy({ privateRegistries: ["127.0.0.1"] }) }),
    directory,
    signal,
  });
}

test("an interrupted upload goes on behind the bytes that the registry has", async () => {
  let broken = false;
  registry.answer = (request, bytes) => {
    if (request.method !== "PATCH" || registry.upload.length === 0 || broken) return undefined;
    broken = true;
    // Half of the piece has come when the registry fails.
    registry.upload = new Uint8Array(Buffer.concat([registry.upload, bytes.subarray(0, 5 * MIB)]));
    return new Response("{}", { status: 500 });
  };
  const { blobs } = await push(40 * MIB);
  const [blob] = [...blobs.values()];
  expect(registry.blobs.has(blob?.digest ?? "")).toBe(true);
  const patches = registry.requests.filter(({ method }) => method === "PATCH").map(({ range }) => Number(range?.split("-")[0]) / MIB);
  expect(patches.slice(0, 3)).toEqual([0, 32, 37]);
  expect(registry.requests.filter(({ method, what }) => method === "POST" && what === "uploads").length).toBe(2); // The layer's, and the configuration's.
}, 30_000);

test("a push to a registry that never takes a layer fails, and leaves no files", async () => {
  registry.answer = (request) => (request.method === "PUT" ? new Response("{}", { status: 503 }) : undefined);
  await expect(push(1024)).rejects.toMatchObject({ code: "unavailable", reason: "registry_answer" });
  expect(registry.requests.filter(({ method }) => method === "PUT").length).toBe(4);
  expect(readdirSync(directory)).toEqual([]);
}, 30_000);

test("an upload address on another host gets nothing", async () => {
  registry.answer = (request) =>
    request.method === "POST" ? new Response(null, { status: 202, headers: { location: "http://127.0.0.1:1/steal" } }) : undefined;
  await expect(push(1024)).rejects.toMatchObject({ code: "failed_precondition", reason: "registry_answer" });
  registry.answer = (request) => (request.method === "POST" ? new Response(null, { status: 202 }) : undefined);
  await expect(push(1024)).rejects.toMatchObject({ code: "failed_precondition", reason: "registry_answer" });
  expect(readdirSync(directory)).toEqual([]);
});

test("a push that is cancelled in the middle of a layer leaves no files", async () => {
  const abort = new AbortController();
  registry.answer = (request) => {
    if (request.method === "PUT") abort.abort(new Error("given up"));
    return undefined;
  };
  await expect(push(1024, abort.signal)).rejects.toThrow("given up");
  expect(readdirSync(directory)).toEqual([]);
});
