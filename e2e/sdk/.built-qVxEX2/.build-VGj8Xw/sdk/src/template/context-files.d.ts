import type { ContextEntry } from "./files.ts";
/** What a COPY or ADD of a Dockerfile takes out of the context. */
export interface ContextSources {
    readonly context: string;
    /** Paths and patterns; `/` at their beginning means the context. */
    readonly sources: readonly string[];
    /** Archives are to be unpacked. */
    readonly isAdd: boolean;
    /** Path of the file that says what is left out. */
    readonly ignoreFile: string;
}
/** A path of the context as the server takes it. */
export interface SentSource {
    readonly path: string;
    readonly name?: string;
    readonly extract?: true;
}
/**
 * The entries that a COPY of a Dockerfile takes, and what each of its sources comes to. As with builders of images, patterns match dot files, and a
 * link that is named stands for what it points to.
 *
 * @throws InvalidArgumentError with reason `copy_outside_context` or `copy_nothing`.
 */
export declare function sourcesOf({ context, sources, isAdd, ignoreFile }: ContextSources): {
    entries: ContextEntry[];
    sent: SentSource[];
};
/** What is at a path; undefined for what is no part of a context: sockets, pipes and devices. */
export declare function entryAt(context: string, path: string): ContextEntry | undefined;
