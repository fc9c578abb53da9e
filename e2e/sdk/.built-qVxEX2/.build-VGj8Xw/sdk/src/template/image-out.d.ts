import { type ApiClient } from "../api-client.ts";
import type { RegistryAccess } from "./steps.ts";
export interface PushProgress {
    readonly layersDone: number;
    readonly layers: number;
    /** Bytes of the template's files that are done with, of `bytes`. */
    readonly bytesDone: number;
    readonly bytes: number;
    /** Bytes sent, packed; what the registry has already is not sent. */
    readonly bytesSent: number;
}
export interface PushOpts {
    /** Login of the registry. The server uses it for this push and keeps it nowhere. */
    readonly registry?: RegistryAccess | undefined;
    readonly onProgress?: ((progress: PushProgress) => void) | undefined;
    /** Aborting ends the push; what the registry has by then is not sent again by the next one. */
    readonly signal?: AbortSignal | undefined;
}
export interface PushedImage {
    /** The whole name, `HOST/NAME:TAG`. */
    readonly reference: string;
    /** Digest of the image's manifest. */
    readonly digest: string;
}
export interface ExportOpts {
    readonly onProgress?: ((progress: {
        readonly bytes: number;
        readonly totalBytes: number;
    }) => void) | undefined;
    /** Aborting ends the export and leaves no file. */
    readonly signal?: AbortSignal | undefined;
}
export interface ExportedImage {
    readonly digest: string;
    readonly bytes: number;
}
/** Takes an archive piece by piece; the next one comes when it is done. */
export type Sink = (piece: Uint8Array) => void | Promise<void>;
export declare function pushTemplate(api: ApiClient, name: string, reference: string, opts: PushOpts): Promise<PushedImage>;
/** The archive goes into a file, which is there when it is whole, or piece by piece to a function. */
export declare function exportTemplate(api: ApiClient, name: string, to: string | Sink, opts: ExportOpts): Promise<ExportedImage>;
