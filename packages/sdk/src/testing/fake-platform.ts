import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { FakeProcesses } from "./fake-processes.ts";
import { envelope, sendConnectError, sendJson } from "./fake-wire.ts";

export const FAKE_API_KEY = `e2b_${"0".repeat(40)}`;
const TOKEN = "fake-access-token";

/** A recorded request to the platform API. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/**
 * A platform for unit tests, in this process: the API, and one agent for all sandboxes, whose commands are real processes of this machine
 * and whose files are a map. It can be told to fail.
 */
interface FakeSandbox {
  endAt: number;
  readonly metadata: Record<string, string>;
  readonly lifecycle?: { readonly onTimeout: string; readonly autoResume: boolean };
}

export class FakePlatform {
  readonly seen: SeenRequest[] = [];
  readonly sandboxes = new Map<string, FakeSandbox>();
  /** Ids by the names of sandboxes. */
  readonly named = new Map<string, string>();
  readonly files = new Map<string, Uint8Array>();
  /** Answers to give to the next API requests instead of the real ones. */
  readonly nextAnswers: ((response: ServerResponse) => unknown)[] = [];
  /** So many uploads are cut in the middle. */
  cutUploads = 0;
  /** Agents take questions for their health and never answer. */
  silent = false;
  /** Paths that were removed; uploads into one that is gone fail. */
  private readonly removed = new Set<string>();
  private readonly idempotent = new Map<string, string>();
  private readonly processes = new FakeProcesses();
  private readonly server = createServer((request, response) => {
    // A client that goes while it sends is no failure of this side.
    this.handle(request, response).catch((error: unknown) => {
      if (!request.destroyed) throw error;
    });
  });
  private created = 0;
  private run = crypto.randomUUID();

  async start(port = 0): Promise<string> {
    this.run = crypto.randomUUID();
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** As when the server is killed: every connection is cut. */
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.processes.killAll();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Cuts every connection and goes on. */
  dropConnections(): void {
    this.server.closeAllConnections();
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url ?? "/", "http://fake");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    // As the agent does: what nobody waits for any more is not kept.
    if (request.socket.destroyed) return;
    if (url.pathname === "/health" && !request.headers["svc-sandbox-id"])
      return response.writeHead(200, { "X-Server-Run": this.run }).end();
    const sandboxId = request.headers["svc-sandbox-id"];
    if (typeof sandboxId === "string") return this.agent(sandboxId, url, request, body, response);
    response.setHeader("X-Server-Run", this.run);
    this.seen.push({ method: request.method ?? "", path: url.pathname + url.search, headers: request.headers, body: body.toString() });
    const scripted = this.nextAnswers.shift();
    if (scripted) return scripted(response);
    if (request.headers["x-api-key"] !== FAKE_API_KEY) return sendJson(response, 401, { code: 401, message: "Invalid API key" });
    return this.api(request, url, body.toString(), response);
  }

  private api(request: IncomingMessage, url: URL, body: string, response: ServerResponse): unknown {
    const { method } = request;
    if (url.pathname === "/usage") return sendJson(response, 200, { days: [{ date: "2026-01-01", sandboxes: 3, ...USED }] });
    if (url.pathname.startsWith("/api-keys")) return this.keys(method, url.pathname.slice(10), body, response);
    const [, id = "", action = ""] = /^(?:\/v2)?\/sandboxes(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (id === "by-name" && this.named.has(action)) return sendJson(response, 200, detail(this.named.get(action) ?? "", OF_NAME));
    const json = body ? (JSON.parse(body) as Record<string, unknown>) : {};
    if (method === "POST" && !id) return this.create(request, json, response);
    if (method === "GET" && !id) return this.list(url, response);
    const sandbox = this.sandboxes.get(id);
    if (!sandbox) return sendJson(response, 404, { code: 404, message: `Sandbox "${id}" doesn't exist or you don't have access to it` });
    if (method === "DELETE") {
      this.sandboxes.delete(id);
      return sendJson(response, 204);
    }
    if (action === "usage") return sendJson(response, 200, { sandboxID: id, ...USED });
    if (action === "connect") return sendJson(response, 200, access(id));
    if (action === "logs") return sendJson(response, 200, { logs: LOGS });
    if (action === "network") return sendJson(response, 404, { code: 404, message: "There is nothing", error_code: "no_such_route" });
    if (action === "timeout") {
      sandbox.endAt = Date.now() + Number(json.timeout) * 1000;
      return sendJson(response, 204);
    }
    return sendJson(response, 200, { ...detail(id, sandbox), ...(sandbox.lifecycle && { lifecycle: sandbox.lifecycle }) });
  }

  private create(request: IncomingMessage, json: Record<string, unknown>, response: ServerResponse): unknown {
    if (json.templateID !== "base")
      return sendJson(response, 404, { code: 404, message: `template '${String(json.templateID)}' not found` });
    const key = String(request.headers["idempotency-key"]);
    const id = this.idempotent.get(key) ?? `i${String(this.created++).padStart(20, "0")}`;
    this.idempotent.set(key, id);
    const autoResume = (json.autoResume as { enabled?: boolean } | undefined)?.enabled === true;
    this.sandboxes.set(id, {
      endAt: Date.now() + Number(json.timeout) * 1000,
      metadata: (json.metadata ?? {}) as Record<string, string>,
      lifecycle: { onTimeout: json.autoPause ? "pause" : "kill", autoResume },
    });
    return sendJson(response, 201, access(id));
  }

  private keys(method: string | undefined, id: string, body: string, response: ServerResponse): unknown {
    if (method === "POST") return sendJson(response, 201, { ...KEY, name: JSON.parse(body).name, key: "e2b_new" });
    if (method === "DELETE")
      return sendJson(response, id === KEY.id ? 204 : 404, id === KEY.id ? undefined : { code: 404, message: "none" });
    return sendJson(response, 200, [KEY]);
  }

  private list(url: URL, response: ServerResponse): unknown {
    const limit = Number(url.searchParams.get("limit") ?? 100);
    const from = Number(url.searchParams.get("nextToken") ?? 0);
    const filter = [...new URLSearchParams(url.searchParams.get("metadata") ?? "")];
    const all = [...this.sandboxes].filter(([, { metadata }]) => filter.every(([key, value]) => metadata[key] === value));
    if (from + limit < all.length) response.setHeader("X-Next-Token", String(from + limit));
    return sendJson(
      response,
      200,
      all.slice(from, from + limit).map(([id, sandbox]) => detail(id, sandbox)),
    );
  }

  private async agent(id: string, url: URL, request: IncomingMessage, body: Buffer, response: ServerResponse): Promise<unknown> {
    if (!this.sandboxes.has(id)) return sendJson(response, 502, { sandboxId: id, message: "The sandbox was not found", code: 502 });
    if (url.pathname === "/health") return this.silent ? undefined : sendJson(response, 204);
    if (request.headers["x-access-token"] !== TOKEN) return sendJson(response, 401, { code: 401, message: "unauthorized access" });
    if (url.pathname.startsWith("/process.Process/")) return this.processes.handle(url.pathname.slice(17), request, body, response);
    if (url.pathname === "/filesystem.Filesystem/Stat") return this.stat(body, response);
    if (url.pathname === "/filesystem.Filesystem/WatchDir") return this.watch(response);
    if (url.pathname === "/filesystem.Filesystem/Remove") return this.remove(body, response);
    if (url.pathname === "/files/compose") return this.compose(body, response);
    if (url.pathname === "/files") return this.file(url.searchParams.get("path") ?? "", request.method ?? "", body, response);
    return sendConnectError(response, 501, "unimplemented", url.pathname);
  }

  private stat(body: Buffer, response: ServerResponse): unknown {
    const { path } = JSON.parse(body.toString()) as { path: string };
    const file = this.files.get(path);
    if (!file) return sendConnectError(response, 404, "not_found", `path '${path}' does not exist`);
    return sendJson(response, 200, {
      entry: { name: path, path, type: "FILE_TYPE_FILE", size: String(file.length), mode: 420, owner: "user" },
    });
  }

  private remove(body: Buffer, response: ServerResponse): unknown {
    const { path } = JSON.parse(body.toString()) as { path: string };
    this.removed.add(path);
    for (const name of this.files.keys()) if (name === path || name.startsWith(`${path}/`)) this.files.delete(name);
    return sendJson(response, 200, {});
  }

  private compose(body: Buffer, response: ServerResponse): unknown {
    const { source_paths: sources, destination } = JSON.parse(body.toString()) as { source_paths: string[]; destination: string };
    this.files.set(destination, new Uint8Array(Buffer.concat(sources.map((path) => this.files.get(path) ?? Buffer.from("?")))));
    for (const path of sources) this.files.delete(path);
    return sendJson(response, 200, { path: destination, name: destination, type: "file" });
  }

  private watch(response: ServerResponse): unknown {
    response.writeHead(200, { "Content-Type": "application/connect+json" });
    response.write(envelope({ start: {} }));
    response.write(envelope({ filesystem: { name: "a.txt", type: "EVENT_TYPE_CREATE" } }));
    return response.write(envelope({ filesystem: { name: "a.txt", type: "EVENT_TYPE_WRITE" } }));
  }

  private file(path: string, method: string, body: Buffer, response: ServerResponse): unknown {
    if (method === "POST" && this.cutUploads > 0) {
      this.cutUploads--;
      return response.destroy();
    }
    if (method === "POST") {
      // As in the agent: an upload that was under way when its directory was removed has no place left.
      if (this.removed.has(dirname(path))) return sendJson(response, 500, { code: 500, message: "directory is gone" });
      this.files.set(path, new Uint8Array(body));
      return sendJson(response, 200, [{ path, name: path, type: "file" }]);
    }
    const file = this.files.get(path);
    if (!file) return sendJson(response, 404, { code: 404, message: `path '${path}' does not exist` });
    response.writeHead(200, { "Content-Length": file.length });
    return response.end(file);
  }
}

const USED = { cpuSeconds: 1.5, memoryMiBSeconds: 3_686_400, runningSeconds: 90, networkReceivedBytes: 1024, networkSentBytes: 2048 };
const KEY = {
  id: "k1",
  name: "first",
  mask: { prefix: "e2b_", valueLength: 40, maskedValuePrefix: "12ab", maskedValueSuffix: "cd34" },
  scopes: ["read", "sandboxes", "templates", "admin"],
  createdAt: "2026-01-01T00:00:00Z",
};
const LOGS = [{ timestamp: "2026-01-01T00:00:00.000Z", level: "info", message: "Sandbox started", fields: { event: "started" } }];

function access(id: string): Record<string, unknown> {
  return { templateID: "base", sandboxID: id, clientID: "fake", envdVersion: "0.6.13", envdAccessToken: TOKEN };
}

/** What `named` points to. */
const OF_NAME: FakeSandbox = { endAt: 0, metadata: {} };

function detail(id: string, sandbox: FakeSandbox): Record<string, unknown> {
  const endAt = new Date(sandbox.endAt).toISOString();
  const resources = { cpuCount: 2, memoryMB: 1024, diskSizeMB: 10_240 };
  return { ...access(id), ...resources, state: "running", startedAt: "2026-01-01T00:00:00Z", endAt, metadata: sandbox.metadata };
}
