import type { filesystemService } from "@boxyard/spec/agent";
import type { AgentContext, HttpCall, HttpRoute, RpcCall, RpcHandlers } from "../contracts.ts";

type Handlers = RpcHandlers<typeof filesystemService>;
type UnaryName = Exclude<keyof Handlers, "WatchDir">;

/*
 * The code of files is loaded by the first request for it: evaluating it takes 0.6 ms of CPU, which no start has to wait for. Only these
 * functions import it.
 */

/** The HTTP routes of files (docs/contract/agent.md, Files). `GET` and `POST /files` decide access by themselves: signed URLs carry no header. */
export function fileRoutes(ctx: AgentContext): readonly HttpRoute[] {
  const download = async (call: HttpCall) => (await import("./download/download.ts")).download(ctx, call);
  return [
    { method: "GET", path: "/files", access: "own", handle: download },
    // The contract does not exempt HEAD from the token.
    { method: "HEAD", path: "/files", access: "token", handle: download },
    { method: "POST", path: "/files", access: "own", handle: async (call) => (await import("./upload/upload.ts")).upload(ctx, call) },
    {
      method: "POST",
      path: "/files/compose",
      access: "token",
      handle: async (call) => (await import("./compose/compose.ts")).compose(ctx, call),
    },
    {
      method: "GET",
      path: "/boxyard/archive",
      access: "token",
      handle: async (call) => (await import("./archive/archive.ts")).archive(ctx, call),
    },
  ];
}

/** Every method of `filesystem.Filesystem` (docs/contract/agent.md, File system). Its watches live as long as the context. */
export function filesystemHandlers(ctx: AgentContext): Handlers {
  let loaded: Promise<Handlers> | undefined;
  const load = () => {
    loaded ??= import("./rpc/all-handlers.ts").then(({ allHandlers }) => allHandlers(ctx));
    return loaded;
  };
  const unary = <Name extends UnaryName>(name: Name): Handlers[Name] => {
    const handler = async (input: never, call: RpcCall) => ((await load())[name] as (input: never, call: RpcCall) => unknown)(input, call);
    return handler as unknown as Handlers[Name];
  };
  return {
    Stat: unary("Stat"),
    MakeDir: unary("MakeDir"),
    Move: unary("Move"),
    ListDir: unary("ListDir"),
    Remove: unary("Remove"),
    CreateWatcher: unary("CreateWatcher"),
    GetWatcherEvents: unary("GetWatcherEvents"),
    RemoveWatcher: unary("RemoveWatcher"),
    WatchDir: {
      keepalive: { keepalive: {} },
      async *open(request, call) {
        yield* (await load()).WatchDir.open(request, call);
      },
    },
  };
}
