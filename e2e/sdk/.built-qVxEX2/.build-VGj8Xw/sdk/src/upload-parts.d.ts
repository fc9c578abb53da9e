import type { FileData, WriteInfo } from "./file-types.ts";
import type { PartSize } from "./part-size.ts";
import type { RequestScope } from "./request-scope.ts";
/** How far an upload is. */
export interface UploadProgress {
    /** Bytes that the sandbox has taken. */
    readonly sentBytes: number;
    /** Undefined when the data is a stream. */
    readonly totalBytes: number | undefined;
}
/** From this size on data goes in parts; below it one request is quicker. */
export declare const PARTS_FROM_BYTES: number;
/** The same when somebody wants to see how far it is. */
export declare const WATCHED_PARTS_FROM_BYTES: number;
/** For a part, where the caller gives no limit. They are made to take about a second. */
export declare const PART_TIMEOUT_MS = 600000;
type Part = Blob | Uint8Array<ArrayBuffer>;
/** What an upload in parts needs of the sandbox. */
export interface PartTarget {
    put(path: string, data: Part, signal: AbortSignal): Promise<unknown>;
    join(parts: readonly string[], signal: AbortSignal): Promise<WriteInfo>;
    /** Removes the folder of the parts, whatever is in it. Never fails. */
    cleanUp(folder: string): Promise<void>;
}
/** Size of data that is at hand as a whole; undefined of a stream. */
export declare function sizeOf(data: FileData): number | undefined;
/** The data in pieces of these sizes; pieces of a stream are collected first, the others are views. */
export declare function partsOf(data: FileData, sizes: PartSize, signal: AbortSignal): AsyncGenerator<Part, void, undefined>;
/** The first part; and, if there are more, all of them as one iterator. */
export declare function startOf(parts: AsyncIterator<Part>): Promise<[first: Part | undefined, all: AsyncIterator<Part> | undefined]>;
/**
 * Uploads parts side by side into a folder beside the destination, then joins them. The destination changes at once and only at the end;
 * whatever fails, the folder goes away. A part whose connection fails is sent again.
 */
export declare function uploadInParts(target: PartTarget, folder: string, parts: AsyncIterator<Part>, sizes: PartSize, onSent: (bytes: number) => void | Promise<void>, scope: RequestScope): Promise<WriteInfo>;
export {};
