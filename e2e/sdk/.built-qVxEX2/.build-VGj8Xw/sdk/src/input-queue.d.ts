/** Sends input of one process in the order of the calls, also when a caller does not wait for each. */
export declare class InputQueue {
    private readonly tails;
    run<T>(pid: number, send: () => Promise<T>): Promise<T>;
}
