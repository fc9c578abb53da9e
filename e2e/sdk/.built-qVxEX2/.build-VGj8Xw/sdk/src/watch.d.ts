import type { Filesystem } from "@boxyard/spec/pb/filesystem";
import type { Client } from "@connectrpc/connect";
import { type CallContext } from "./agent-call.ts";
import { asyncDispose } from "./async-dispose.ts";
import { type EntryInfo } from "./file-types.ts";
import type { RequestOptions } from "./request-scope.ts";
/** A file that was moved away is `rename`; where it went, if that is watched too, it is `create`. */
export type FileEventType = "create" | "write" | "remove" | "rename" | "chmod";
export interface FileEvent {
    /** Path below the watched directory. */
    readonly name: string;
    readonly type: FileEventType;
    /** What is there now; only with `includeEntry`, and only if it was still there to be looked at. */
    readonly entry?: EntryInfo;
}
export interface WatchOpts extends RequestOptions {
    /** Also everything below, with directories made later. Default false. */
    readonly recursive?: boolean | undefined;
    /** Default false. */
    readonly includeEntry?: boolean | undefined;
    /** Watch a network file system, where changes made elsewhere are not seen. Default false. */
    readonly allowNetworkMounts?: boolean | undefined;
    /** The watch ends after this many milliseconds; 0 means no limit. Default 60000. */
    readonly timeoutMs?: number | undefined;
    /** Called once when the watch has ended; with an error if it was not `stop` that ended it. */
    readonly onExit?: ((error?: Error) => void | Promise<void>) | undefined;
    readonly user?: string | undefined;
}
/** A running watch. With `await using` it ends with the block. */
export declare class WatchHandle {
    private readonly scope;
    private readonly done;
    private stopped;
    /** Ends the watch; no event is delivered after it has resolved. */
    stop(): Promise<void>;
    [asyncDispose](): Promise<void>;
}
/** Starts a watch; resolves when the agent watches, so that every later change is seen. */
export declare function watchDir(client: Client<typeof Filesystem>, context: CallContext, path: string, onEvent: (event: FileEvent) => void | Promise<void>, opts: WatchOpts): Promise<WatchHandle>;
