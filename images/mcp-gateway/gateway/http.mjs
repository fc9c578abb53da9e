// The gateway's port: streamable HTTP without sessions, for holders of the token.
import { createHash, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const PORT = 50005;
const PATH = "/mcp";
const MAX_BODY = 4 * 1024 * 1024;
const MAX_AT_ONCE = 64;

/** Serves until the process ends. Throws when the port is taken. */
export async function serve(servers, token) {
  const gateway = new Gateway(servers, token);
  const listener = createServer((request, response) => {
    gateway.handle(request, response).catch((error) => refuse(response, 400, error.message));
  });
  await new Promise((resolve, reject) => {
    listener.once("error", reject);
    listener.listen(PORT, "0.0.0.0", resolve);
  });
}

class Gateway {
  #servers;
  #allowed;
  #open = 0;

  constructor(servers, token) {
    this.#servers = servers;
    this.#allowed = digestOf(`Bearer ${token}`);
  }

  async handle(request, response) {
    if (new URL(request.url, "http://gateway").pathname !== PATH) return refuse(response, 404, `the gateway is at ${PATH}`);
    if (!timingSafeEqual(digestOf(request.headers.authorization ?? ""), this.#allowed)) {
      return refuse(response, 401, "the token of the gateway is missing or wrong", { "WWW-Authenticate": "Bearer" });
    }
    if (request.method !== "POST") return refuse(response, 405, "the gateway takes messages by POST", { Allow: "POST" });
    if (this.#open >= MAX_AT_ONCE) return refuse(response, 503, `${MAX_AT_ONCE} requests are open already`, { "Retry-After": "1" });
    this.#open += 1;
    response.once("close", () => {
      this.#open -= 1;
    });
    const body = await bodyOf(request);
    if (body === undefined) return refuse(response, 413, `a message has at most ${MAX_BODY} bytes`, { Connection: "close" });
    await answer(request, response, this.#servers, body);
  }
}

async function answer(request, response, servers, body) {
  const server = new Server({ name: "mcp-gateway", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools: await servers.tools() }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => servers.call(params.name, params.arguments, signal));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  response.once("close", () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, JSON.parse(body));
}

/** The text of a body; undefined when it is too long. */
async function bodyOf(request) {
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > MAX_BODY) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

function refuse(response, status, message, headers = {}) {
  if (response.headersSent) return response.end();
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}

const digestOf = (text) => createHash("sha256").update(text).digest();
