/** True when a text is more than a plain path. */
export declare const isPattern: (text: string) => boolean;
/** A path without `.`, empty parts and slashes around it. */
export declare function cleanPath(path: string): string;
/** Matches paths that a pattern names. */
export declare function matcher(pattern: string): (path: string) => boolean;
/**
 * Says which paths `.dockerignore` leaves out. A pattern also covers what is below the folder it names; the last one that matches decides; `!`
 * takes back in. Comments begin with `#`.
 */
export declare function ignoreRules(text: string): {
    ignores(path: string): boolean;
    readonly hasExceptions: boolean;
};
