/** Variables of a moment. */
export interface Variables {
    /** What the file itself tells. */
    readonly known: ReadonlyMap<string, string>;
    /** What the server makes values of: texts that refer to variables of the image. */
    readonly deferred: ReadonlyMap<string, string>;
}
/** Text of a Dockerfile that has no meaning. */
export declare class WordError extends Error {
}
/** Cuts a text where words end, outside of quotes; the words keep their quotes. */
export declare function splitWords(text: string, escapeChar: string): string[];
/** Reads one word: quotes and escapes go, `$NAME` and `${NAME…}` become what they stand for. */
export declare class WordReader {
    private readonly variables;
    private readonly escapeChar;
    constructor(variables: Variables, escapeChar: string);
    /** The text with the variables that this file knows; others are left to the server, which knows the image's. */
    forServer(word: string): string;
    /** The text, if this file alone says what it is. Throws `WordError` that names the variable it would need. */
    here(word: string): string;
    /** The value, if this file alone says what it is. */
    known(word: string): string | undefined;
    /** Of a text that is no word, such as a here-document: quotes are characters like others. */
    inText(text: string): string;
    private read;
}
/** A text that the server is to take as it stands. */
export declare const literal: (text: string) => string;
