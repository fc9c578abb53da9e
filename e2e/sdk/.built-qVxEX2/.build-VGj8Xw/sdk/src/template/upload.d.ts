import { type ApiClient } from "../api-client.ts";
import { type RequestOptions } from "../request-scope.ts";
import type { Step, TemplateStep } from "./steps.ts";
/** How the files of one COPY are doing. */
export interface UploadState {
    /** Number of the step, from 1; 0 for the archive that a template begins with. */
    readonly step: number;
    /** Stage that the step is in; undefined: the template itself. */
    readonly stage?: string | undefined;
    readonly source: string;
    /** `cached`: the server has equal files already. */
    readonly state: "packing" | "cached" | "uploading" | "uploaded";
    /** Size of the packed files, once they are packed. */
    readonly bytes: number | undefined;
}
export interface UploadOpts extends RequestOptions {
    /** True: nothing is taken from the cache. Default false. */
    readonly skipCache?: boolean | undefined;
    /** Called for each COPY as its files are packed and uploaded. */
    readonly onUpload?: ((state: UploadState) => void) | undefined;
}
/** A step as it is sent. */
export type SentStep = Step & {
    readonly filesHash?: string;
};
/** Makes sure that the server has the files of these steps, and gives the steps as it takes them. */
export declare function sendSteps(api: ApiClient, templateId: string, steps: readonly TemplateStep[], stage: string | undefined, opts: UploadOpts): Promise<SentStep[]>;
/** Makes sure that the server has an archive; the hash under which it has it. */
export declare function sendArchive(api: ApiClient, templateId: string, path: string, opts: UploadOpts): Promise<string>;
