import type { Page } from "./sandbox-api.ts";

/** Pages of a list. `nextItems` returns one page, `for await` iterates over all items. */
export class Paginator<T> implements AsyncIterable<T> {
  private readonly fetchPage: (nextToken: string | undefined) => Promise<Page<T>>;
  private token: string | undefined;
  private more = true;

  constructor(fetchPage: (nextToken: string | undefined) => Promise<Page<T>>, startToken?: string) {
    this.fetchPage = fetchPage;
    this.token = startToken;
  }

  /** False when all pages have been read. */
  get hasNext(): boolean {
    return this.more;
  }

  /** Token of the next page; pass it as `nextToken` to continue later. */
  get nextToken(): string | undefined {
    return this.token;
  }

  /** The next page; empty if there are no more. */
  async nextItems(): Promise<readonly T[]> {
    if (!this.more) return [];
    const page = await this.fetchPage(this.token);
    this.token = page.nextToken;
    this.more = page.nextToken !== undefined;
    return page.items;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    while (this.more) yield* await this.nextItems();
  }
}
