import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { Connection } from "@boxyard/http1";
import { testCertificate } from "../testing/certificate.ts";
import { TEST_ID } from "../testing/front.ts";
import { RawServer } from "../testing/raw.ts";
import { Front } from "./front.ts";
import { RouteTable } from "./route-table.ts";
import { TlsListener } from "./tls-listener.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-tls-"));
afterAll(() => rmSync(directory, { recursive: true }));
const files = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
function write({ cert, key } = testCertificate()): string {
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  return cert;
}

/** The certificate that a new connection is shown. */
function shown(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.toString().trim() ?? "");
      socket.destroy();
    });
    socket.on("error", reject);
  });
}

class SecureFront implements AsyncDisposable {
  readonly upstream = new RawServer();
  readonly ca = write();
  readonly front: Front;

  constructor() {
    const routes = new RouteTable();
    routes.add({ sandboxId: TEST_ID, incarnation: 1, host: "127.0.0.1", agentPort: this.upstream.port, accessToken: "token" });
    this.front = new Front({
      hostname: "127.0.0.1",
      port: 0,
      tls: { hostname: "127.0.0.1", port: 0, ...files },
      routes,
      api: async (request, call) =>
        new Response(`${request.headers.get("x-forwarded-proto")} ${(await call.body(64 << 20)).byteLength}`, { status: 200 }),
      clock: systemClock,
      logger: silentLogger,
    });
  }

  fetch(path: string, init: RequestInit = {}) {
    // The certificate names nobody, so only its authority is checked.
    const tls = { ca: this.ca, checkServerIdentity: () => undefined };
    return fetch(`https://127.0.0.1:${this.front.tlsPort}${path}`, { ...init, tls } as RequestInit);
  }

  async [Symbol.asyncDispose]() {
    this.upstream.stop();
    await this.front.close(0);
  }
}

test("serves the API over TLS, and says so to it; the plain port goes on", async () => {
  await using t = new SecureFront();
  const body = Buffer.alloc(8 << 20, "0123456789abcdef-");
  expect(await (await t.fetch("/x", { method: "POST", body, headers: { "X-Forwarded-Proto": "gopher" } })).text()).toBe(
    `https ${body.byteLength}`,
  );
  expect(await (await fetch(`http://127.0.0.1:${t.front.port}/x`, { method: "POST", body: "abc" })).text()).toBe("null 3");
});

test("passes large bodies of sandboxes in both directions, byte for byte", async () => {
  await using t = new SecureFront();
  const mirror = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: 64 << 20,
    fetch: (request) => new Response(request.body),
  });
  const body = Buffer.alloc(8 << 20, "0123456789abcdef-");
  const headers = { "Svc-Sandbox-Id": TEST_ID, "Svc-Sandbox-Port": String(mirror.port) };
  for (let round = 0; round < 3; round++) {
    const answer = await t.fetch("/", { method: "POST", body, headers });
    expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true);
  }
  await mirror.stop(true);
});

test("new connections get a changed certificate, and open ones go on; files that cannot be used change nothing", async () => {
  const first = write();
  const open: Connection[] = [];
  const accept = (socket: Bun.Socket<Connection>) => {
    socket.data = { owner: undefined, destroy() {} } as unknown as Connection;
    open.push(socket.data);
  };
  const listener = new TlsListener({ hostname: "127.0.0.1", port: 0, ...files }, accept, silentLogger);
  try {
    const { port } = listener;
    expect(await shown(port)).toBe(first.trim());
    writeFileSync(files.cert, "not a certificate");
    listener.look();
    expect(await shown(port)).toBe(first.trim());
    const other = testCertificate();
    writeFileSync(files.cert, other.cert);
    listener.look();
    expect(await shown(port)).toBe(first.trim());
    writeFileSync(files.key, other.key);
    listener.look();
    expect([listener.port, await shown(port)]).toEqual([port, other.cert.trim()]);
  } finally {
    listener.stop(true);
  }
});

test("does not start without a certificate and its key", () => {
  const own = testCertificate();
  const listen = () => new TlsListener({ hostname: "127.0.0.1", port: 0, ...files }, () => {}, silentLogger);
  write({ cert: own.cert, key: testCertificate().key });
  expect(listen).toThrow("the key is not that of the certificate");
  rmSync(files.key);
  expect(listen).toThrow("BOXYARD_TLS_CERT and BOXYARD_TLS_KEY: not a certificate with its key");
});
