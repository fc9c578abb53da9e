import type { filesystemService } from "@boxyard/spec/agent";
import type { AgentContext, RpcHandlers } from "../../contracts.ts";
import { treeHandlers } from "./handlers.ts";
import { watchHandlers } from "./watch-handlers.ts";

/** What answers the methods of `filesystem.Filesystem`. */
export function allHandlers(ctx: AgentContext): RpcHandlers<typeof filesystemService> {
  return { ...treeHandlers(ctx), ...watchHandlers(ctx) };
}
