import type { AppError } from "@boxyard/core";
import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";
import type { Sleeper } from "./route-table.ts";
import type { WakeQueue } from "./wake-queue.ts";

/**
 * A request that waits for the resume of its sandbox, and keeps what came of its body meanwhile. Then it goes on as if the sandbox had been
 * running.
 */
export class WakingExchange implements Exchange {
  private readonly client: ClientConnection;
  private readonly early: Buffer[] = [];
  private isBodyEnded = false;
  private giveUp: (() => void) | undefined;
  private exchange: Exchange | undefined;

  constructor(client: ClientConnection) {
    this.client = client;
  }

  /** `goOn` makes the exchange that takes over the request, which may be a refusal. */
  start(wakeQueue: WakeQueue, sleeper: Sleeper, goOn: (noRoom: AppError | undefined) => Exchange): void {
    this.client.pauseBody();
    this.giveUp = wakeQueue.wait(sleeper, (noRoom) => this.awake(() => goOn(noRoom)));
  }

  get bodyTarget(): Connection | undefined {
    return this.exchange?.bodyTarget;
  }

  onBody(bytes: Buffer): void {
    if (this.exchange) {
      this.exchange.onBody(bytes);
      return;
    }
    this.early.push(bytes);
    this.client.pauseBody();
  }

  onBodyEnd(): void {
    this.isBodyEnded = true;
    this.exchange?.onBodyEnd();
  }

  onClientDrain(): void {
    this.exchange?.onClientDrain();
  }

  onClientEnd(): void {
    this.exchange?.onClientEnd?.();
  }

  /** Releases the request. The resume goes on: the next request finds the sandbox running. */
  onClientClosed(): void {
    this.giveUp?.();
    this.early.length = 0;
    this.exchange?.onClientClosed();
  }

  private awake(goOn: () => Exchange): void {
    this.client.resumeBody();
    const exchange = goOn();
    this.exchange = exchange;
    for (const bytes of this.early) exchange.onBody(bytes);
    this.early.length = 0;
    if (this.isBodyEnded) exchange.onBodyEnd();
  }
}
