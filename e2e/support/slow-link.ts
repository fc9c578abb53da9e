import { connect, createServer, type Socket } from "node:net";

export interface LinkSpeed {
  readonly bytesPerSecond: number;
  /** From one end to the other. */
  readonly delayMs: number;
}

/** A server that is far away: a TCP relay on this machine, through which each direction of all connections together passes so slowly. */
export class SlowLink implements AsyncDisposable {
  private readonly sockets = new Set<Socket>();
  private readonly server = createServer((near) => this.join(near));
  private readonly target: URL;
  /** When each direction has room for the next byte. */
  private readonly free = { up: 0, down: 0 };
  readonly speed: LinkSpeed;

  private constructor(target: string, speed: LinkSpeed) {
    this.target = new URL(target);
    this.speed = speed;
  }

  static async to(target: string, speed: LinkSpeed): Promise<SlowLink> {
    const link = new SlowLink(target, speed);
    await new Promise<void>((resolve) => link.server.listen(0, "127.0.0.1", resolve));
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private join(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    this.pass(near, far, "up");
    this.pass(far, near, "down");
  }

  private pass(from: Socket, to: Socket, direction: "up" | "down"): void {
    this.sockets.add(from);
    from.on("error", () => to.destroy());
    from.on("close", () => {
      this.sockets.delete(from);
      to.destroySoon();
    });
    from.on("data", (bytes) => {
      const now = performance.now();
      const startsAt = Math.max(now, this.free[direction]);
      const leavesAt = startsAt + (bytes.length / this.speed.bytesPerSecond) * 1000;
      this.free[direction] = leavesAt;
      // Nothing more is taken before this has left: a link holds little.
      from.pause();
      setTimeout(() => from.resume(), leavesAt - now);
      setTimeout(() => to.write(bytes), leavesAt - now + this.speed.delayMs);
    });
    from.on("end", () => setTimeout(() => to.end(), Math.max(0, this.free[direction] - performance.now()) + this.speed.delayMs + 1));
  }
}
