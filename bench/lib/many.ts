import { Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";

/** Requests under way at once in a bench that does not measure concurrency. */
const AT_ONCE = 16;

/** Does `work` for the indices 0 to `count` - 1, `atOnce` of them at a time; results are in the order of the indices. */
export async function inParallel<T>(count: number, work: (index: number) => Promise<T>, atOnce = AT_ONCE): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, worker));
  return results;
}

/** Sandboxes that end with the bench. */
export class Many implements AsyncDisposable {
  readonly sandboxes: readonly Sandbox[];

  private constructor(sandboxes: readonly Sandbox[]) {
    this.sandboxes = sandboxes;
  }

  static async create({ apiUrl, apiKey }: Platform, count: number): Promise<Many> {
    const timeoutMs = 3_600_000;
    return new Many(await inParallel(count, () => Sandbox.create({ apiUrl, apiKey, timeoutMs, requestTimeoutMs: 120_000 })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await inParallel(this.sandboxes.length, (index) => (this.sandboxes[index] as Sandbox).kill());
  }
}
