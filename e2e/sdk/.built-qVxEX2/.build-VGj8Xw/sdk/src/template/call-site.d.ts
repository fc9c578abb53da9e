/** Where somebody's program, or a Dockerfile, asks for something. */
export interface CallSite {
    /** Path or URL of the file, if it is known. */
    readonly file?: string | undefined;
    readonly line: number;
    readonly column?: number | undefined;
    /** The calls that led there, as in a stack trace. */
    readonly frames?: readonly string[] | undefined;
}
/** The line outside of these files that the current call comes from. Undefined where the runtime does not tell. */
export declare function callSite(...own: readonly string[]): CallSite | undefined;
/** `FILE:LINE:COLUMN`, as editors and terminals open it. */
export declare function placeOf({ file, line, column }: CallSite): string;
