import { boxyardCommand, type Platform } from "@boxyard/testkit";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";

/** The official client, with what the tests ask of it. */
export interface McpClient extends AsyncDisposable {
  readonly client: Client;
  /** The text of a tool's result. Throws when the tool failed. */
  text(tool: string, args?: Record<string, unknown>): Promise<string>;
  /** What a tool that fails says. */
  failure(tool: string, args?: Record<string, unknown>): Promise<string>;
  /** Creates a sandbox and gives its id. */
  create(args?: Record<string, unknown>): Promise<string>;
}

const LIMIT = { timeout: 60_000 };

export async function connected(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: "boxyard-tests", version: "1" });
  await client.connect(transport);
  const call = (name: string, args: Record<string, unknown> = {}) =>
    client.callTool({ name, arguments: args }, undefined, LIMIT) as Promise<CallToolResult>;
  const text = async (tool: string, args?: Record<string, unknown>) => {
    const result = await call(tool, args);
    if (result.isError) throw new Error(`${tool}: ${textOf(result)}`);
    return textOf(result);
  };
  return {
    client,
    text,
    failure: async (tool, args) => {
      const result = await call(tool, args);
      if (!result.isError) throw new Error(`${tool} did not fail: ${textOf(result)}`);
      return textOf(result);
    },
    create: async (args) => /\bi[a-z0-9]{19,}\b/.exec(await text("create", args))?.[0] as string,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === "text" ? part.text : `(${part.type})`)).join("\n");

/** `boxyard mcp` as a client starts it. */
export function stdioOf(platform: Platform): StdioClientTransport {
  return new StdioClientTransport({ command: boxyardCommand(), args: ["mcp"], env: { ...platform.env }, stderr: "inherit" });
}
