import type { CopySource } from "./steps.ts";
/** Something that a COPY takes along. */
export interface ContextEntry {
    /** Below the context, with slashes. */
    readonly path: string;
    readonly absolute: string;
    readonly kind: "file" | "directory" | "symlink";
    readonly mode: number;
    readonly size: number;
    /** Of a symlink. */
    readonly target: string;
}
/** The entries that a COPY takes, in the order of their paths. Links are taken as links. */
export declare function entriesOf({ context, source }: CopySource): ContextEntry[];
/** The name under which the server keeps these files; equal content has the same name (contract/wire.md 5.4). */
export declare function hashOf(entries: readonly ContextEntry[], source: string, destination: string): Promise<string>;
