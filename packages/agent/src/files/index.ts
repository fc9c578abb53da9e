import type { filesystemService } from "@boxyard/spec/agent";
import type { AgentContext, HttpRoute, RpcHandlers } from "../contracts.ts";
import { archive } from "./archive/archive.ts";
import { compose } from "./compose/compose.ts";
import { download } from "./download/download.ts";
import { treeHandlers } from "./rpc/handlers.ts";
import { watchHandlers } from "./rpc/watch-handlers.ts";
import { upload } from "./upload/upload.ts";

/** The HTTP routes of files (docs/contract/agent.md, Files). `GET` and `POST /files` decide access by themselves: signed URLs carry no header. */
export function fileRoutes(ctx: AgentContext): readonly HttpRoute[] {
  return [
    { method: "GET", path: "/files", access: "own", handle: (call) => download(ctx, call) },
    // The contract does not exempt HEAD from the token.
    { method: "HEAD", path: "/files", access: "token", handle: (call) => download(ctx, call) },
    { method: "POST", path: "/files", access: "own", handle: (call) => upload(ctx, call) },
    { method: "POST", path: "/files/compose", access: "token", handle: (call) => compose(ctx, call) },
    { method: "GET", path: "/boxyard/archive", access: "token", handle: (call) => archive(ctx, call) },
  ];
}

/** Every method of `filesystem.Filesystem` (docs/contract/agent.md, File system). Its watches live as long as the context. */
export function filesystemHandlers(ctx: AgentContext): RpcHandlers<typeof filesystemService> {
  return { ...treeHandlers(ctx), ...watchHandlers(ctx) };
}
