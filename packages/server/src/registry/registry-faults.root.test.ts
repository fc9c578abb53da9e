import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { digestOf, FakeDriver, makeTar } from "@boxyard/driver/fake";
import { Pins } from "../images/pins.ts";
import { Downloads, FetchPolicy, type PullProgress, parseImageReference, pullImage, Transport } from "./index.ts";
import { ScriptedRegistry } from "./testing/scripted-registry.ts";

/*
 * Faults of the registry, of the network and of the disk during each part of a pull. After a short fault the pull goes on by itself. After a lasting
 * fault it fails with the cause, leaves no files, and the next pull works.
 */

const signal = new AbortController().signal;
/** Cannot be compressed, and does not fit on the small disk of a test below. */
const NOISE = Buffer.from(crypto.getRandomValues(new Uint8Array(60_000))).toString("hex");
const TAR = makeTar([{ path: "big", text: NOISE }]);

let script: ScriptedRegistry;
let directory: string;
beforeEach(() => {
  script = new ScriptedRegistry();
  script.image([TAR]);
  directory = mkdtempSync(join(tmpdir(), "boxyard-registry-faults-"));
});
afterEach(async () => {
  await script.server.stop(true);
  rmSync(directory, { recursive: true, force: true });
});

function pull(options: { downloads?: string; silenceMs?: number; onProgress?: (progress: PullProgress) => void } = {}) {
  const { downloads = directory, silenceMs = 60_000, ...more } = options;
  const fetchPolicy = new FetchPolicy({ privateRegistries: ["127.0.0.1"] });
  return pullImage({
    reference: parseImageReference(`${script.host}/app:v1`),
    images: new FakeDriver().images,
    pins: new Pins(),
    transport: new Transport({ fetchPolicy, silenceMs }),
    downloads: new Downloads(downloads),
    signal,
    ...more,
  });
}

/** Sends half of the bytes, and then nothing on a connection that stays open. */
function silent(bytes: Uint8Array): Response {
  const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(bytes.slice(0, bytes.length / 2)) });
  return new Response(body, { headers: { "content-type": script.top.mediaType } });
}

/** A server that sends half of each answer, and closes the connection. */
let cutter: Bun.TCPSocketListener;
beforeEach(() => {
  cutter = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, request) {
        const bytes = bytesAt(request.toString("latin1").split(" ")[1] ?? "");
        const head = `HTTP/1.1 200 OK\r\nContent-Type: ${script.top.mediaType}\r\nContent-Length: ${bytes.length}\r\n\r\n`;
        socket.end(Buffer.concat([Buffer.from(head), bytes.subarray(0, bytes.length / 2)]));
      },
    },
  });
});
afterEach(() => cutter.stop(true));

const PLACES = {
  manifest: (path: string) => path.includes("/manifests/"),
  configuration: (path: string) => path.includes("/blobs/") && !path.endsWith(digestOf(TAR)),
  layer: (path: string) => path.endsWith(digestOf(TAR)),
};
const bytesAt = (path: string): Uint8Array => script.blobs.get(path.split("/").at(-1) ?? "") ?? script.top.bytes;
const FAULTS: Readonly<Record<string, (path: string) => Response>> = {
  "503": () => new Response("busy", { status: 503 }),
  "500": () => new Response("<html>", { status: 500 }),
  "a connection that is cut": (path) => Response.redirect(`http://127.0.0.1:${cutter.port}${path}`, 307),
  "a truncated answer": (path) => new Response(bytesAt(path).slice(0, 100), { headers: { "content-type": script.top.mediaType } }),
};

for (const [place, isAt] of Object.entries(PLACES)) {
  for (const [what, fault] of Object.entries(FAULTS)) {
    // A truncated document with a matching Content-Length has a wrong digest or form, which is no transient fault.
    if (what === "a truncated answer" && place !== "layer") continue;
    test(`the ${place} is fetched after ${what}`, async () => {
      let left = 1;
      script.answer = (_, { pathname }) => (isAt(pathname) && left-- > 0 ? fault(pathname) : undefined);
      const seen: number[] = [];
      let total = 0;
      using pulled = await pull({
        onProgress({ bytesDone, bytes }) {
          seen.push(bytesDone);
          total = bytes;
        },
      });
      expect(pulled.image.layers).toEqual([digestOf(TAR)]);
      expect([Math.min(...seen) >= 0, Math.max(...seen), readdirSync(directory)]).toEqual([true, total, []]);
    }, 30_000);
  }
}

for (const place of ["manifest", "configuration"] as const) {
  test(`a registry that stops sending within the ${place} is an error`, async () => {
    script.answer = (_, { pathname }) => (PLACES[place](pathname) ? silent(bytesAt(pathname)) : undefined);
    await expect(pull({ silenceMs: 100 })).rejects.toMatchObject({ code: "unavailable", reason: "registry_unreachable" });
  }, 30_000);
}

test("a registry that fails each time is reported with its answer", async () => {
  script.answer = () => new Response("busy", { status: 503 });
  await expect(pull()).rejects.toMatchObject({ code: "unavailable", reason: "registry_answer" });
}, 30_000);

test("a disk that fills during a download: the pull fails at once, removes its file, and the next pull works when there is room", async () => {
  const small = mkdtempSync(join(tmpdir(), "boxyard-full-"));
  const run = (...argv: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(argv);
    if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  };
  run("mount", "-t", "tmpfs", "-o", "size=64k", "boxyard-test", small);
  try {
    await expect(pull({ downloads: small })).rejects.toMatchObject({ code: "resource_exhausted", reason: "disk_full" });
    expect(readdirSync(small)).toEqual([]);
    run("mount", "-o", "remount,size=4m", small);
    using pulled = await pull({ downloads: small });
    expect(pulled.image.layers).toEqual([digestOf(TAR)]);
  } finally {
    run("umount", small);
    rmSync(small, { recursive: true });
  }
}, 30_000);
