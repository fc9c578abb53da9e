import type { CallSite } from "./call-site.ts";
import { type Instruction } from "./dockerfile-lines.ts";
import { WordReader } from "./dockerfile-words.ts";
import { type TemplateOrigin, type TemplateStep } from "./steps.ts";
/** What ENTRYPOINT and CMD say. */
export type CommandForm = {
    readonly argv: readonly string[];
} | {
    readonly line: string;
};
/** What holds for every stage of a file. */
export interface FileFacts {
    readonly context: string;
    readonly ignoreFile: string;
    /** Of the Dockerfile, for people. */
    readonly path: string | undefined;
    readonly escapeChar: string;
    /** Values that were given for ARG. */
    readonly args: Readonly<Record<string, string>>;
    /** Of the ARGs before the first FROM. */
    readonly globals: ReadonlyMap<string, string>;
    /** Told of instructions that have no effect. */
    readonly onNote: (text: string) => void;
}
/** A stage of a Dockerfile as far as it has been read. */
export declare class DockerfileStage {
    readonly file: FileFacts;
    /** Of FROM. */
    readonly line: number;
    /** By which COPY --from and FROM know it; its number else. */
    readonly name: string;
    readonly origin: TemplateOrigin | undefined;
    /** Why it cannot be built; told when it is needed. */
    refusal: (() => never) | undefined;
    readonly steps: TemplateStep[];
    /** What COPY takes files out of: names of other stages, and images. */
    readonly copiesFrom: Set<string>;
    readonly images: Set<string>;
    /** ARG in scope: the value as the server is to read it, and as it is known here. */
    readonly args: Map<string, {
        readonly text: string;
        readonly known: string | undefined;
    }>;
    /** ENV whose value is known here. */
    readonly env: Map<string, string>;
    /** ENV whose value only the server will know. */
    readonly unknown: Set<string>;
    /** Of RUN, CMD and ENTRYPOINT in shell form; undefined: the usual one. */
    shell: readonly string[] | undefined;
    entrypoint: CommandForm | undefined;
    cmd: CommandForm | undefined;
    /** Whether CMD is this stage's own. */
    ownCmd: boolean;
    commandLine: number | undefined;
    constructor(file: FileFacts, from: {
        line: number;
        name: string;
        origin?: TemplateOrigin | undefined;
        refusal?: (() => never) | undefined;
    }, parent?: DockerfileStage);
    add({ line }: {
        readonly line: number;
    }, type: TemplateStep["type"], args: readonly string[], more?: Partial<TemplateStep>): void;
    at(line: number): CallSite;
    has(type: TemplateStep["type"]): boolean;
    /** Reads words with the variables of the moment; what is wrong with them is told with the instruction's line. */
    reading<T>(instruction: Instruction, read: (words: WordReader) => T): T;
    /** A command in shell form, as the one line that the server's shell gets. */
    shellLine(line: string): string;
    /** ENTRYPOINT and CMD together, as one line for a shell. */
    startCommand(): string | undefined;
}
