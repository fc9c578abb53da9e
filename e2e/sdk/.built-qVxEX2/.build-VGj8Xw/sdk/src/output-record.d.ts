import type { CommandOutput, OutputStream } from "./process-events.ts";
/** Everything that a command has put out, as bytes, and as text for who asks. */
export declare class OutputRecord {
    readonly pieces: CommandOutput[];
    private readonly texts;
    private ended;
    add(output: CommandOutput): void;
    /** Nothing more comes: what is left of a character that was cut counts as text now. */
    end(): void;
    text(stream: OutputStream): string;
}
