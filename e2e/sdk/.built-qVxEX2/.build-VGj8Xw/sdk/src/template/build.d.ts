import { ApiClient } from "../api-client.ts";
import { BoxyardError } from "../errors.ts";
import { type CallSite } from "./call-site.ts";
import type { TemplateParts } from "./steps.ts";
import * as calls from "./template-api.ts";
import type { BuildLogEntry } from "./template-info.ts";
import { type UploadOpts } from "./upload.ts";
export interface BuildOpts extends calls.BuildResources, UploadOpts {
    /** Tags of this build. Default: `default`. */
    readonly tags?: readonly string[] | undefined;
    /** Secrets by name, for commands that ask for them. The server keeps them nowhere and takes them out of the log. */
    readonly secrets?: Readonly<Record<string, string>> | undefined;
    /** Gets the log of the build line by line; a returned promise is waited for, an error thrown here reaches the caller. */
    readonly onLog?: ((entry: BuildLogEntry) => void | Promise<void>) | undefined;
}
/** The build failed. The log tells more; the stack leads to the line that asked for what failed. */
export declare class BuildError extends BoxyardError {
    name: string;
    /** `base`, the number of a step from 1 on, or `finalize`; in a stage with the stage's name and a colon before it. */
    readonly step: string | undefined;
    /** The line of the program or Dockerfile that asked for the step. */
    readonly at: CallSite | undefined;
    constructor(message: string, step: string | undefined, at?: CallSite);
}
/** Uploads what the build needs and starts it. */
export declare function beginBuild(api: ApiClient, parts: TemplateParts, name: string, opts: BuildOpts): Promise<calls.NewBuild>;
/** Follows a build to its end. An abort cancels it. */
export declare function followBuild(api: ApiClient, build: calls.BuildRef, parts: TemplateParts, opts: BuildOpts): Promise<void>;
