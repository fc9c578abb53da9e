import type { filesystemService, WatchDirRequest, WatchDirResponse } from "@boxyard/spec/agent";
import { type AgentContext, actingUser, type EncodedEnvelope, type RpcCall, type RpcHandlers } from "../../contracts.ts";
import { resolvePath } from "../path/resolve-path.ts";
import { TimeSlice } from "../time-slice.ts";
import { PolledWatchers } from "../watch/polled.ts";
import { type Watch, Watches } from "../watch/watch.ts";
import { nextEnvelopes, takeAll } from "./watch-events.ts";

type Handlers = RpcHandlers<typeof filesystemService>;

/** The methods of `filesystem.Filesystem` that report changes (docs/contract/agent.md, File system): as a stream, or by polling. */
export function watchHandlers(ctx: AgentContext): Pick<Handlers, "WatchDir" | "CreateWatcher" | "GetWatcherEvents" | "RemoveWatcher"> {
  const watches = new Watches(ctx.users);
  const polled = new PolledWatchers(ctx.clock);
  const open = (request: WatchDirRequest, call: RpcCall) =>
    watches.watch(resolvePath(ctx.state, actingUser(ctx, call.username), request.path), request, call.signal);
  return {
    WatchDir: {
      keepalive: { keepalive: {} },
      open: (request, call) => stream(() => open(request, call), call.signal),
    },
    async CreateWatcher(request, call) {
      return { watcherId: polled.add(await open(request, call)) };
    },
    async GetWatcherEvents({ watcherId }) {
      const watch = polled.get(watcherId);
      await watch.caughtUp();
      return takeAll(watch, () => ctx.bodies.claim());
    },
    RemoveWatcher({ watcherId }) {
      polled.remove(watcherId);
      return {};
    },
  };
}

/** Yields `start`, then events until the client leaves or the watch fails. */
async function* stream(open: () => Promise<Watch>, signal: AbortSignal): AsyncGenerator<WatchDirResponse | EncodedEnvelope> {
  const watch = await open();
  try {
    yield { start: {} };
    while (!signal.aborted) {
      await watch.queue.ready(signal);
      const slice = new TimeSlice();
      for (let next = nextEnvelopes(watch); next; next = watch.queue.length > 0 ? nextEnvelopes(watch) : undefined) {
        yield next;
        const turn = slice.turn();
        if (turn) await turn;
      }
    }
  } finally {
    watch.dispose();
  }
}
