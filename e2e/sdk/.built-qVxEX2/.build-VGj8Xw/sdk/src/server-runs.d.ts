/**
 * Which run of the server answered when. A server names its run in the header `X-Server-Run` of every answer of its API and takes a new name
 * at each start; so a stream that was cut can be told to have been cut by a restart.
 */
export declare class ServerRuns {
    private readonly apiUrl;
    private readonly runs;
    constructor(apiUrl: string);
    note(response: Response): void;
    /** True when another run answers now than answered at `time`. Never throws; false when that cannot be told. */
    hasChangedSince(time: number): Promise<boolean>;
}
