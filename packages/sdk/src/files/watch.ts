import type { Filesystem, WatchDirResponse, FilesystemEvent as WireEvent } from "@boxyard/spec/pb/filesystem";
import { EventType } from "@boxyard/spec/pb/filesystem";
import type { Client } from "@connectrpc/connect";
import { asyncDispose } from "../async-dispose.ts";
import { releaseCall } from "../commands/process-events.ts";
import { type CallContext, scopeFor, streamCallOptions } from "../connection/agent-call.ts";
import { agentError } from "../connection/agent-errors.ts";
import type { RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { BoxyardError } from "../errors.ts";
import { type EntryInfo, entryFromWire } from "./file-types.ts";

/** A moved file gives `rename` at its old path and, if the new path is watched too, `create` there. */
export type FileEventType = "create" | "write" | "remove" | "rename" | "chmod";

export interface FileEvent {
  /** Path relative to the watched directory. A `write` of `.`, the directory itself, means that events were lost: list the directory again. */
  readonly name: string;
  readonly type: FileEventType;
  /** The file or directory as it is now. Only with `includeEntry`, and only if it still exists. */
  readonly entry?: EntryInfo;
}

export interface WatchOpts extends RequestOptions {
  /** True: also watches all subdirectories, including those created later. Default false. */
  readonly recursive?: boolean | undefined;
  /** True: events have `entry`. Default false. */
  readonly includeEntry?: boolean | undefined;
  /** True: allows a watch of a network file system, where changes by other machines give no events. Default false. */
  readonly allowNetworkMounts?: boolean | undefined;
  /** The watch ends after this many milliseconds; 0 means no limit. Default 60000. */
  readonly timeoutMs?: number | undefined;
  /** Called once when the watch has ended; with an error unless `stop` ended it. */
  readonly onExit?: ((error?: Error) => void | Promise<void>) | undefined;
  readonly user?: string | undefined;
}

const TYPES: Readonly<Record<EventType, FileEventType | undefined>> = {
  [EventType.UNSPECIFIED]: undefined,
  [EventType.CREATE]: "create",
  [EventType.WRITE]: "write",
  [EventType.REMOVE]: "remove",
  [EventType.RENAME]: "rename",
  [EventType.CHMOD]: "chmod",
};

const DEFAULT_WATCH_TIMEOUT_MS = 60_000;

/** A running watch. With `await using` it ends at the end of the block. */
export class WatchHandle {
  private readonly scope: RequestScope;
  private readonly done: Promise<void>;
  private stopped = false;

  /** @internal Handles come from `files.watchDir`. */
  constructor(scope: RequestScope, run: (isStopped: () => boolean) => Promise<void>) {
    this.scope = scope;
    this.done = run(() => this.stopped);
  }

  /** Ends the watch; no event is delivered after it has resolved. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.scope.abort();
    await this.done;
  }

  [asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Starts a watch; resolves when the agent watches, so that every later change is seen. */
export async function watchDir(
  client: Client<typeof Filesystem>,
  context: CallContext,
  path: string,
  onEvent: (event: FileEvent) => void | Promise<void>,
  opts: WatchOpts,
): Promise<WatchHandle> {
  const what = `watch ${path}`;
  const scope = scopeFor(context, what, opts);
  const timeoutMs = opts.timeoutMs ?? DEFAULT_WATCH_TIMEOUT_MS;
  const translate = (error: unknown) =>
    agentError(error, { what, scope, streamTimeoutMs: timeoutMs, notFoundReason: "file_not_found", probe: context.metadata.probe });
  const { recursive = false, includeEntry = false, allowNetworkMounts = false } = opts;
  try {
    scope.throwIfEnded();
    const stream = client.watchDir({ path, recursive, includeEntry, allowNetworkMounts }, streamCallOptions(scope, timeoutMs, opts.user));
    const iterator = stream[Symbol.asyncIterator]();
    await awaitStart(iterator);
    scope.begin();
    return new WatchHandle(scope, (isStopped) => deliver(iterator, onEvent, opts.onExit, scope, translate, isStopped));
  } catch (error) {
    scope.abort();
    scope.dispose();
    throw await translate(error);
  }
}

async function awaitStart(iterator: AsyncIterator<WatchDirResponse>): Promise<void> {
  for (;;) {
    const first = await iterator.next();
    const kind = first.done ? undefined : first.value.event.case;
    if (kind === "start") return;
    if (kind !== "keepalive") throw new BoxyardError("the agent did not confirm the watch", { code: "internal", reason: "protocol_error" });
  }
}

async function deliver(
  iterator: AsyncIterator<WatchDirResponse>,
  onEvent: (event: FileEvent) => void | Promise<void>,
  onExit: WatchOpts["onExit"],
  scope: RequestScope,
  translate: (error: unknown) => Promise<Error>,
  isStopped: () => boolean,
): Promise<void> {
  let failure: Error | undefined;
  let delivering = false;
  try {
    for (let next = await iterator.next(); !next.done && !isStopped(); next = await iterator.next()) {
      const event = next.value.event.case === "filesystem" ? eventFromWire(next.value.event.value) : undefined;
      delivering = true;
      if (event) await onEvent(event);
      delivering = false;
    }
  } catch (error) {
    if (delivering) failure = error instanceof Error ? error : new Error(String(error));
    else if (!isStopped()) failure = await translate(error);
  }
  scope.abort();
  releaseCall(iterator);
  scope.dispose();
  await onExit?.(failure);
}

function eventFromWire(event: WireEvent): FileEvent | undefined {
  const type = TYPES[event.type];
  return type && { name: event.name, type, ...(event.entry ? { entry: entryFromWire(event.entry) } : {}) };
}
