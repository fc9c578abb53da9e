import type { ApiClient } from "../api-client.ts";
import type { RequestOptions } from "../request-scope.ts";
import type { Page } from "../sandbox-api.ts";
import type { TemplateOrigin, TemplateParts } from "./steps.ts";
import { type BuildStatus, type TemplateInfo, type TemplateTag } from "./template-info.ts";
import type { SentStep } from "./upload.ts";
/** A template and one build of it. */
export interface BuildRef {
    readonly templateId: string;
    readonly buildId: string;
}
export interface NewBuild extends BuildRef {
    readonly names: readonly string[];
    readonly tags: readonly string[];
}
export interface BuildResources {
    /** Processors of its sandboxes, 1 or an even number. Default: the server's, 2. */
    readonly cpuCount?: number | undefined;
    /** Memory of its sandboxes in MiB, an even number. Default: the server's, 1024. */
    readonly memoryMB?: number | undefined;
}
export declare function requestBuild(api: ApiClient, name: string, tags: readonly string[] | undefined, { cpuCount, memoryMB }: BuildResources, options: RequestOptions): Promise<NewBuild>;
export interface UploadLink {
    readonly present: boolean;
    readonly url: string | undefined;
    readonly headers: Readonly<Record<string, string>>;
}
/** Where files of a COPY are to be put, and whether the server has them already. */
export declare function uploadLink(api: ApiClient, templateId: string, hash: string, options: RequestOptions): Promise<UploadLink>;
/** A stage as it is sent. */
export type StartedStage = TemplateOrigin & {
    readonly name: string;
    readonly steps: readonly SentStep[];
};
export interface StartedSteps {
    readonly stages: readonly StartedStage[];
    readonly steps: readonly SentStep[];
    readonly secrets: Readonly<Record<string, string>>;
    /** Nothing is taken from the cache. */
    readonly force: boolean;
}
export declare function startBuild(api: ApiClient, ref: BuildRef, { startCmd, readyCmd, origin }: TemplateParts, { stages, steps, secrets, force }: StartedSteps, options: RequestOptions): Promise<void>;
export declare function cancelBuild(api: ApiClient, ref: BuildRef, options: RequestOptions): Promise<void>;
export declare function buildStatus(api: ApiClient, ref: BuildRef, logsOffset: number, options: RequestOptions): Promise<BuildStatus>;
/** The id behind a name; undefined when there is no such template. A name that belongs to others is `taken`. */
export declare function resolveName(api: ApiClient, name: string, options: RequestOptions): Promise<string | "taken" | undefined>;
export declare function listTemplates(api: ApiClient, limit: number | undefined, nextToken: string | undefined, options: RequestOptions): Promise<Page<TemplateInfo>>;
export declare function getTemplate(api: ApiClient, id: string, options: RequestOptions): Promise<TemplateInfo>;
/** False when there was no such template. */
export declare function deleteTemplate(api: ApiClient, id: string, options: RequestOptions): Promise<boolean>;
export declare function setPublic(api: ApiClient, id: string, isPublic: boolean, options: RequestOptions): Promise<void>;
export declare function listTags(api: ApiClient, id: string, options: RequestOptions): Promise<TemplateTag[]>;
export declare function assignTags(api: ApiClient, target: string, tags: readonly string[], options: RequestOptions): Promise<void>;
export declare function removeTags(api: ApiClient, name: string, tags: readonly string[], options: RequestOptions): Promise<void>;
