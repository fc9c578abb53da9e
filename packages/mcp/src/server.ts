import { SDK_VERSION } from "@boxyard/sdk";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { explain, ToolError } from "./errors.ts";
import { FILE_TEMPLATE, listResources, readResource } from "./resources.ts";
import type { Session } from "./session/session.ts";
import { TOOLS } from "./tools/index.ts";
import { published } from "./tools/tool.ts";

/** "Resource not found" in the protocol; it has no other code for resources. */
const RESOURCE_NOT_READ = -32002;

const INSTRUCTIONS = "Runs code in isolated Linux sandboxes. Start with `create`. Relative paths begin at the user's home directory.";

/** The protocol's server for one session. */
export function serverOf(session: Session): Server {
  const server = new Server(
    { name: "boxyard", version: SDK_VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: toolList() as never }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const token = params._meta?.progressToken;
    let sent = 0;
    const progress = (message: string) => {
      const notice = {
        method: "notifications/progress" as const,
        params: { progressToken: token as string | number, progress: ++sent, message },
      };
      // A client that has gone gets no result either.
      extra.sendNotification(notice).catch(() => {});
    };
    return callTool(params.name, params.arguments, { session, signal: extra.signal, progress: token === undefined ? undefined : progress });
  });
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [FILE_TEMPLATE] }));
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({ resources: await listResources(session) }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) =>
    readResource(params.uri, session).catch((error: unknown) => {
      throw new McpError(RESOURCE_NOT_READ, explain(error));
    }),
  );
  return server;
}

/** The tools as clients list them. */
export function toolList(): readonly object[] {
  return TOOLS.map(({ name, description, input, readOnly }) => ({
    name,
    description,
    inputSchema: published(input),
    ...(readOnly && { annotations: { readOnlyHint: true } }),
  }));
}

/** Failures are results, so that the model reads them. */
async function callTool(name: string, args: unknown, call: Parameters<(typeof TOOLS)[number]["call"]>[1]): Promise<CallToolResult> {
  try {
    const tool = TOOLS.find((one) => one.name === name);
    if (!tool) throw new ToolError(`There is no tool ${name}.`, `The tools are ${TOOLS.map((one) => one.name).join(", ")}.`);
    const content = await call.session.duringCall(() => tool.call(args, call));
    return { content: [typeof content === "string" ? { type: "text", text: content } : content] };
  } catch (error) {
    return { content: [{ type: "text", text: explain(error) }], isError: true };
  }
}
