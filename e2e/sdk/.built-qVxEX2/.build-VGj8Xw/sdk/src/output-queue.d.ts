import type { CommandOutput } from "./process-events.ts";
/** Output waiting for one `for await` loop. A slow reader holds the stream back instead of filling the memory. */
export declare class OutputQueue implements AsyncIterableIterator<CommandOutput> {
    private readonly waiting;
    private bytes;
    private ended;
    private error;
    private wakeReader;
    private wakeWriter;
    private readonly onReturn;
    constructor(onReturn: (queue: OutputQueue) => void);
    /** Adds a piece; the promise, if any, resolves when there is room for the next. */
    push(output: CommandOutput): Promise<void> | undefined;
    /** Nothing more comes. With an error, the reader gets it after what is waiting. */
    end(error?: {
        readonly cause: unknown;
    }): void;
    next(): Promise<IteratorResult<CommandOutput, undefined>>;
    return(): Promise<IteratorResult<CommandOutput, undefined>>;
    [Symbol.asyncIterator](): this;
}
