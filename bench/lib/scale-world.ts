import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { type FakeAgent, type FakeSandbox, FakeWorld } from "@boxyard/driver/fake";
import type { Load, Order } from "./scale-load.ts";

const PROGRAM = new URL("./scale-clients.ts", import.meta.url).pathname;

/**
 * A world whose sandboxes share one agent, which takes every `/init`: 100,000 servers of their own would be what is measured. The agent and the clients are
 * another process.
 */
export class ScaleWorld extends FakeWorld implements AsyncDisposable {
  private readonly child = Bun.spawn([process.execPath, PROGRAM], { stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  private readonly lines = createInterface({ input: Readable.fromWeb(this.child.stdout as never) })[Symbol.asyncIterator]();
  private agentPort = 0;

  /** `count`: sandboxes that there is room for. */
  static async make(count: number): Promise<ScaleWorld> {
    const world = new ScaleWorld();
    const bytes = count * 2 ** 30;
    world.capacity = {
      ...{ memoryLimitBytes: bytes, memoryFreeBytes: bytes, processLimit: count * 1000, processesFree: count * 1000 },
      ...{ diskLimitBytes: bytes * 10, diskFreeBytes: bytes * 10 },
    };
    world.agentPort = ((await world.answer()) as { agentPort: number }).agentPort;
    return world;
  }

  override boot(sandbox: FakeSandbox): void {
    const nothing = () => {};
    const agent = {
      host: "127.0.0.1",
      port: this.agentPort,
      stop: async () => {},
      freeze: nothing,
      thaw: nothing,
      thawCommands: nothing,
    };
    sandbox.agent = agent as unknown as FakeAgent;
    sandbox.phase = "running";
  }

  /** Lets the clients ask for sandboxes. */
  async ask(order: Order): Promise<Load> {
    this.child.stdin.write(`${JSON.stringify(order)}\n`);
    await this.child.stdin.flush();
    return (await this.answer()) as Load;
  }

  private async answer(): Promise<unknown> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("the clients have ended");
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.sandboxes.clear();
    await this.child.stdin.end();
    await this.child.exited;
  }
}
