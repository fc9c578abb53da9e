import type { ProcessEvent } from "@boxyard/spec/pb/process";
/** Which of a process's outputs. A PTY has one only. */
export type OutputStream = "stdout" | "stderr" | "pty";
/** A piece of output as it came: bytes, cut anywhere, also inside a character. */
export interface CommandOutput {
    readonly stream: OutputStream;
    readonly data: Uint8Array;
}
/** How a process ended. */
export interface ProcessEnd {
    /** -1 when a signal ended it. */
    readonly exitCode: number;
    /** False when a signal ended it. */
    readonly exited: boolean;
    /** `exit status 1`, `signal: killed`. */
    readonly status: string;
    /** Set when `status` is anything but a clean end. */
    readonly error: string | undefined;
}
export type ProcessMessage = {
    readonly output: CommandOutput;
} | {
    readonly end: ProcessEnd;
};
/** A stream whose first message said which process it is. */
export interface OpenProcess {
    readonly pid: number;
    /** The rest of the stream. Ends after the `end` message. */
    readonly messages: AsyncIterable<ProcessMessage>;
}
type Response = {
    readonly event?: ProcessEvent | undefined;
};
/** Reads the first message of a Start or Connect stream, which must be `start`, and hands on the rest. */
export declare function openProcess(stream: AsyncIterable<Response>): Promise<OpenProcess>;
/**
 * Lets the transport notice that its call was aborted while nobody was reading: only then does it let go of the connection and of the timer
 * that bounds the call.
 */
export declare function letGo(iterator: AsyncIterator<unknown>): void;
export {};
