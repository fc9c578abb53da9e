import { InvalidArgumentError } from "../errors.ts";
/** One instruction of a Dockerfile. */
export interface Instruction {
    /** Line of the file, from 1. */
    readonly line: number;
    /** In capitals. */
    readonly name: string;
    /** What follows the name, continued lines joined. */
    readonly rest: string;
    readonly heredocs: readonly Heredoc[];
}
export interface Heredoc {
    readonly word: string;
    readonly text: string;
    /** False: its word was quoted, so no variable is put in. */
    readonly isExpanded: boolean;
}
export interface DockerfileLines {
    readonly instructions: readonly Instruction[];
    /** Character that continues lines and takes the meaning from others: `\`, or what the directive `escape` says. */
    readonly escapeChar: string;
}
/**
 * The instructions of a Dockerfile: comments and empty lines left out, continued lines joined, here-documents read
 * (docs.docker.com/reference/dockerfile, "Format", "Parser directives", "Here-Documents").
 *
 * @throws InvalidArgumentError, reason `dockerfile_invalid`, naming the line.
 */
export declare function instructionsOf(text: string): DockerfileLines;
/** The list of the exec form; undefined when the text is in shell form. */
export declare function execForm(text: string): string[] | undefined;
/** Takes the flags from the beginning of what follows an instruction's name. */
export declare function flagsOf({ rest }: Instruction): {
    flags: Map<string, string>;
    mounts: string[];
    rest: string;
};
/** An instruction in one line, as logs show it. */
export declare const shownText: ({ name, rest }: Instruction) => string;
/** What is wrong in a Dockerfile, with the line. */
export declare function invalid(line: number, name: string, what: string): InvalidArgumentError;
export declare const wrong: ({ line, name }: Instruction, what: string) => InvalidArgumentError;
/** What templates cannot do, with the line. */
export declare function unsupported({ line, name }: Instruction, what: string): InvalidArgumentError;
