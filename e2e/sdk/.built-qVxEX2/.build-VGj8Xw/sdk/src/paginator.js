/** Pages of a list. Take them one by one with `nextItems`, or all items with `for await`. */
export class Paginator {
    fetchPage;
    token;
    more = true;
    constructor(fetchPage, startToken) {
        this.fetchPage = fetchPage;
        this.token = startToken;
    }
    /** False when all pages have been read. */
    get hasNext() {
        return this.more;
    }
    /** Where the next page begins; pass it as `nextToken` to go on later. */
    get nextToken() {
        return this.token;
    }
    /** The next page; empty when there is none. */
    async nextItems() {
        if (!this.more)
            return [];
        const page = await this.fetchPage(this.token);
        this.token = page.nextToken;
        this.more = page.nextToken !== undefined;
        return page.items;
    }
    async *[Symbol.asyncIterator]() {
        while (this.more)
            yield* await this.nextItems();
    }
}
