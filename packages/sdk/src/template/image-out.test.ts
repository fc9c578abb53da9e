import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PushProgress, Template } from "./index.ts";

let answer: (request: Request) => Response | Promise<Response> = () => new Response(null, { status: 500 });
const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => answer(request) });
const directory = mkdtempSync(join(tmpdir(), "boxyard-out-"));
const options = { apiUrl: `http://127.0.0.1:${server.port}`, apiKey: "key" };
afterAll(async () => {
  await server.stop(true);
  rmSync(directory, { recursive: true });
});
beforeEach(() => {
  answer = () => new Response(null, { status: 500 });
});

const lines = (...pieces: string[]) => {
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      for (const piece of pieces) {
        controller.enqueue(new TextEncoder().encode(piece));
        await Bun.sleep(1); // So that the pieces arrive one by one.
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { "Content-Type": "application/x-ndjson" } });
};

test("a push sends its login in the body, and reports progress from lines that come in pieces, between empty ones", async () => {
  const seen: PushProgress[] = [];
  let sent: unknown;
  answer = async (request) => {
    expect(new URL(request.url).pathname).toBe("/boxyard/templates/app%3Av1/push");
    sent = await request.json();
    return lines(
      '\n{"type":"progress","layersDone":1,"lay',
      'ers":2,"bytesDone":7,"bytes":9,"bytesSent":5}\n\n',
      '{"type":"done","reference":"h/a:latest","digest":"sha256:1"}\n',
    );
  };
  const registry = { type: "registry", username: "u", password: "p" } as const;
  const pushed = await Template.push("app:v1", "h/a", { ...options, registry, onProgress: (progress) => void seen.push(progress) });
  expect(pushed).toEqual({ reference: "h/a:latest", digest: "sha256:1" });
  expect(sent).toEqual({ reference: "h/a", registry });
  expect(seen).toMatchObject([{ layersDone: 1, layers: 2, bytesDone: 7, bytes: 9, bytesSent: 5 }]);
});

test("a push that failed, or whose answer ended early, is an error", async () => {
  answer = () => lines('{"type":"failed","code":"permission_denied","reason":"registry_denied","message":"no"}\n');
  await expect(Template.push("app", "h/a", options)).rejects.toMatchObject({
    name: "AuthenticationError",
    reason: "registry_denied",
    message: "push template app: no",
  });
  answer = () => lines('{"type":"progress","layersDone":1,"layers":2,"bytesDone":7,"bytes":9,"bytesSent":5}\n');
  await expect(Template.push("app", "h/a", options)).rejects.toMatchObject({ name: "ConnectionError", reason: "network_failed" });
  answer = () => Response.json({ code: 404, message: "gone" }, { status: 404 });
  await expect(Template.push("app", "h/a", options)).rejects.toMatchObject({ name: "NotFoundError", reason: "template_not_found" });
});

test("an export is a file when it is whole, and nothing when it is not", async () => {
  const headers = { "Content-Length": "6", "X-Image-Digest": "sha256:2" };
  answer = () => new Response("abcdef", { headers });
  const to = join(directory, "a.tar");
  expect(await Template.export("app", to, options)).toEqual({ digest: "sha256:2", bytes: 6 });
  expect([readFileSync(to, "utf8"), readdirSync(directory)]).toEqual(["abcdef", ["a.tar"]]);
  // Chunked, and shorter than it says: as a proxy in between might make it.
  answer = () => new Response(lines("abc").body, { headers: { "X-Image-Digest": "sha256:2" } });
  await expect(Template.export("app", to, options)).rejects.toMatchObject({ name: "ConnectionError" });
  expect([readFileSync(to, "utf8"), readdirSync(directory)]).toEqual(["abcdef", ["a.tar"]]);
});
