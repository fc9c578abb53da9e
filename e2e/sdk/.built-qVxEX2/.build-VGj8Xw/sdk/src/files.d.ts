import { type Transport } from "@connectrpc/connect";
import { type ModuleConfig, type ModuleMetadata } from "./agent-call.ts";
import { type AgentAddress } from "./agent-connection.ts";
import { type EntryInfo, type FileData, type WriteEntry, type WriteInfo } from "./file-types.ts";
import type { RequestOptions } from "./request-scope.ts";
import { type UploadProgress } from "./upload-parts.ts";
import { type FileEvent, type WatchHandle, type WatchOpts } from "./watch.ts";
export interface FileOpts extends RequestOptions {
    /** Who reads or owns; relative paths begin at this user's home directory. Default: the user of the template. */
    readonly user?: string | undefined;
}
export interface ReadOpts extends FileOpts {
    /** Default `text`. */
    readonly format?: "text" | "bytes" | "blob" | "stream" | undefined;
}
export interface WriteOpts extends FileOpts {
    /** Kept with the file as extended attributes; replaces what was there. Printable ASCII, 4096 bytes in all. */
    readonly metadata?: Readonly<Record<string, string>> | undefined;
    /** Called as the data is taken, part by part; a returned promise is waited for, an error thrown here ends the upload and reaches the caller. */
    readonly onProgress?: ((progress: UploadProgress) => void | Promise<void>) | undefined;
}
export interface ListOpts extends FileOpts {
    /** How many levels deep. Default 1. */
    readonly depth?: number | undefined;
}
/** Reads and changes files in a sandbox. Relative paths begin at the user's home directory. */
export declare class Files {
    private readonly client;
    private readonly context;
    private readonly address;
    private readonly probe;
    constructor(transport: Transport, connectionConfig: ModuleConfig, metadata: ModuleMetadata, address: AgentAddress);
    /** A file's content. The request timeout bounds the whole answer, but of a `stream` only its beginning. */
    read(path: string, opts?: ReadOpts & {
        readonly format?: "text" | undefined;
    }): Promise<string>;
    read(path: string, opts: ReadOpts & {
        readonly format: "bytes";
    }): Promise<Uint8Array>;
    read(path: string, opts: ReadOpts & {
        readonly format: "blob";
    }): Promise<Blob>;
    read(path: string, opts: ReadOpts & {
        readonly format: "stream";
    }): Promise<ReadableStream<Uint8Array>>;
    /**
     * Writes one file; directories on the way are made, and what was there is replaced. Streams, and data from 16 MiB on, go in parallel parts
     * into a folder beside the destination and are joined there, so that the file appears at once and whole; then the request timeout bounds
     * each part (default 10 minutes). With `metadata` all goes in one request.
     */
    write(path: string, data: FileData, opts?: WriteOpts): Promise<WriteInfo>;
    /** Writes several files, in one request unless some are streams. Answers in the order given. */
    write(entries: readonly WriteEntry[], opts?: WriteOpts): Promise<WriteInfo[]>;
    /** What is in a directory, in lexical order. */
    list(path: string, opts?: ListOpts): Promise<EntryInfo[]>;
    /** What is at this path. Throws `NotFoundError` when nothing is. */
    getInfo(path: string, opts?: FileOpts): Promise<EntryInfo>;
    exists(path: string, opts?: FileOpts): Promise<boolean>;
    /** Moves a file or directory; directories on the way are made. */
    rename(source: string, destination: string, opts?: FileOpts): Promise<EntryInfo>;
    /** Removes a file, or a directory with all that is in it. No error when nothing is there. */
    remove(path: string, opts?: FileOpts): Promise<void>;
    /** Makes a directory and those above it. False when it was there already. */
    makeDir(path: string, opts?: FileOpts): Promise<boolean>;
    /** Calls `onEvent`, in order, for each change in a directory. Resolves when the watch has begun. */
    watchDir(path: string, onEvent: (event: FileEvent) => void | Promise<void>, opts?: WatchOpts): Promise<WatchHandle>;
    /** Joins files, in this order, into one, without copying their data, and removes them. What was at `destination` is replaced. */
    compose(sources: readonly string[], destination: string, opts?: FileOpts): Promise<WriteInfo>;
    private writeOne;
    private writeWhole;
    private writeParts;
    private writeForm;
    private call;
    private exchange;
    private transfer;
    private readStream;
}
