import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { isInitializeRequest } from "@modelcontextprotocol/sdk/types.js";
import { serverOf } from "./server.ts";
import { Session } from "./session/session.ts";

const MAX_SESSIONS = 64;
/** Sessions of one key: so one client cannot take all. */
const MAX_SESSIONS_OF_KEY = 16;
/** A session without a request for so long ends; a request that is being worked on counts. */
const IDLE_MS = 30 * 60_000;
const LOOK_EVERY_MS = 30_000;

export interface HttpCaller {
  readonly keyId: string;
  readonly apiKey: string;
  /** The server's address as this client knows it. */
  readonly publicUrl: string;
}

export interface HttpSessionsOptions {
  /** The server's address for the SDK's own requests. */
  readonly apiUrl: () => string;
  /** Milliseconds of a clock that only goes on. */
  readonly now?: () => number;
}

interface Entry {
  readonly id: string;
  readonly keyId: string;
  readonly session: Session;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
}

/** The sessions of streamable HTTP, each of one API key; bounded in number, and ended when they are idle. */
export class HttpSessions {
  private readonly entries = new Map<string, Entry>();
  private readonly options: Required<HttpSessionsOptions>;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(options: HttpSessionsOptions) {
    this.options = { now: () => performance.now(), ...options };
  }

  /** Answers a request of an authenticated caller; `body` is the parsed body of a POST. */
  async handle(request: Request, caller: HttpCaller, body: unknown): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const entry = id === null ? undefined : this.entries.get(id);
    // Clients begin a new session after a 404.
    if (id !== null && entry?.keyId !== caller.keyId)
      return problem(404, -32001, "There is no such session; it may have been idle for too long. Start another");
    if (entry) return this.answer(entry, request, body);
    if (request.method !== "POST" || !isInitializeRequest(body))
      return problem(400, -32000, "The header Mcp-Session-Id is missing: `initialize` gives it");
    const ofKey = [...this.entries.values()].filter(({ keyId }) => keyId === caller.keyId);
    if (ofKey.length >= MAX_SESSIONS_OF_KEY) return limitMet("The key", "mcpSessionsOfKey", MAX_SESSIONS_OF_KEY);
    if (this.entries.size >= MAX_SESSIONS) return limitMet("The server", "mcpSessions", MAX_SESSIONS);
    const opened = await this.open(caller);
    const response = await this.answer(opened, request, body);
    // A client that could not begin does not come back.
    if (!response.ok) await this.end(opened.id);
    return response;
  }

  /** Ends the sessions of a key, with their sandboxes as far as the server lets the key do that. */
  async endOf(keyId: string): Promise<void> {
    const ofKey = [...this.entries.values()].filter((entry) => entry.keyId === keyId);
    await Promise.all(ofKey.map(({ id }) => this.end(id)));
  }

  /** Ends every session, with its sandboxes. */
  async close(): Promise<void> {
    await Promise.all([...this.entries.keys()].map((id) => this.end(id)));
  }

  /** Ends the sessions that have been idle for too long. */
  async endIdle(): Promise<void> {
    const before = this.options.now() - IDLE_MS;
    const idle = [...this.entries].filter(([, { session, usedAt }]) => session.calls === 0 && usedAt <= before);
    await Promise.all(idle.map(([id]) => this.end(id)));
  }

  private async answer(entry: Entry, request: Request, body: unknown): Promise<Response> {
    entry.usedAt = this.options.now();
    const response = await entry.transport.handleRequest(request, { parsedBody: body });
    // The connection is the server's own matter.
    response.headers.delete("connection");
    return response;
  }

  private async open({ keyId, apiKey, publicUrl }: HttpCaller): Promise<Entry> {
    const id = crypto.randomUUID();
    const { apiUrl, now } = this.options;
    const session = new Session(
      async () => ({ apiUrl: apiUrl(), apiKey, publicUrl }),
      () => this.touch(id),
    );
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const entry: Entry = { id, keyId, session, transport, usedAt: now() };
    this.entries.set(id, entry);
    const server = serverOf(session);
    server.onclose = () => void this.end(id);
    await server.connect(transport);
    if (this.timer === undefined) {
      this.timer = setInterval(() => void this.endIdle(), LOOK_EVERY_MS);
      this.timer.unref?.();
    }
    return entry;
  }

  private touch(id: string): void {
    const entry = this.entries.get(id);
    if (entry) entry.usedAt = this.options.now();
  }

  private async end(id: string): Promise<void> {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.entries.delete(id);
    if (this.entries.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
    }
    await entry.session.end();
    await entry.transport.close();
  }
}

const problem = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message }, id: null }, { status });

/** As limits of the API are told, within JSON-RPC. */
function limitMet(whose: string, limit: string, value: number): Response {
  const message = `${whose} has reached its limit ${limit} (${value}): end a session (DELETE), or try again later`;
  const error = { code: -32000, message, data: { limit, value } };
  return Response.json({ jsonrpc: "2.0", error, id: null }, { status: 429, headers: { "Retry-After": "30" } });
}
