import type { Sandbox } from "@boxyard/sdk";

/** Between the commands of one sandbox. */
const PAUSE_MS = 1000;

/** Sandboxes that are used: each runs a small command, and a second after its end the next, until it is disposed of. */
export class Active implements AsyncDisposable {
  private readonly stop = Promise.withResolvers<void>();
  private readonly loops: readonly Promise<void>[];
  private isOver = false;

  constructor(sandboxes: readonly Sandbox[]) {
    this.loops = sandboxes.map((sandbox, index) => this.use(sandbox, (index / sandboxes.length) * PAUSE_MS));
  }

  /** Their first commands are spread over the first second. */
  private async use(sandbox: Sandbox, waitMs: number): Promise<void> {
    await this.pause(waitMs);
    while (!this.isOver) {
      await (await sandbox.commands.spawn(["/bin/true"])).wait();
      await this.pause(PAUSE_MS);
    }
  }

  private async pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await Promise.race([promise, this.stop.promise]);
    clearTimeout(timer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isOver = true;
    this.stop.resolve();
    await Promise.all(this.loops);
  }
}
