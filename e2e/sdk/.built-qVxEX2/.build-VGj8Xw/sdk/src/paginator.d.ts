import type { Page } from "./sandbox-api.ts";
/** Pages of a list. Take them one by one with `nextItems`, or all items with `for await`. */
export declare class Paginator<T> implements AsyncIterable<T> {
    private readonly fetchPage;
    private token;
    private more;
    constructor(fetchPage: (nextToken: string | undefined) => Promise<Page<T>>, startToken?: string);
    /** False when all pages have been read. */
    get hasNext(): boolean;
    /** Where the next page begins; pass it as `nextToken` to go on later. */
    get nextToken(): string | undefined;
    /** The next page; empty when there is none. */
    nextItems(): Promise<readonly T[]>;
    [Symbol.asyncIterator](): AsyncGenerator<T, void, undefined>;
}
