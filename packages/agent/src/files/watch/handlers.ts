import type { filesystemService, WatchDirRequest, WatchDirResponse } from "@boxyard/spec/agent";
import { type AgentContext, actingUser, type RpcCall, type RpcHandlers } from "../../contracts.ts";
import { resolvePath } from "../path/resolve-path.ts";
import { PolledWatchers } from "./polled.ts";
import { type Watch, Watches } from "./watch.ts";

type Handlers = RpcHandlers<typeof filesystemService>;

/** The methods of `filesystem.Filesystem` that tell of changes (wire.md 4.4): as a stream, or asked for. */
export function watchHandlers(ctx: AgentContext): Pick<Handlers, "WatchDir" | "CreateWatcher" | "GetWatcherEvents" | "RemoveWatcher"> {
  const watches = new Watches(ctx.users);
  const polled = new PolledWatchers(ctx.clock);
  const open = (request: WatchDirRequest, call: RpcCall) =>
    watches.watch(resolvePath(ctx.state, actingUser(ctx, call.username), request.path), request);
  return {
    WatchDir: {
      keepalive: { keepalive: {} },
      open: (request, call) => stream(() => open(request, call), call.signal),
    },
    async CreateWatcher(request, call) {
      return { watcherId: polled.add(await open(request, call)) };
    },
    GetWatcherEvents({ watcherId }) {
      const watch = polled.get(watcherId);
      return { events: watch.queue.take().map(watch.present) };
    },
    RemoveWatcher({ watcherId }) {
      polled.remove(watcherId);
      return {};
    },
  };
}

/** `start`, then events until the client leaves; lost events end it with the error. */
async function* stream(open: () => Promise<Watch>, signal: AbortSignal): AsyncGenerator<WatchDirResponse> {
  const watch = await open();
  try {
    yield { start: {} };
    while (!signal.aborted) {
      await watch.queue.ready(signal);
      for (const event of watch.queue.take()) yield { filesystem: watch.present(event) };
    }
  } finally {
    watch.dispose();
  }
}
