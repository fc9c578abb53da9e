import type { AppError } from "@boxyard/core";
import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";
import type { Sleeper } from "./route-table.ts";
import type { Wakings } from "./wakings.ts";

/**
 * A request for a sandbox that is being resumed because of it: it waits, with what has come of its body, and then goes on as if the sandbox
 * had been there.
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

  /** `goOn` makes the exchange that the request goes on as, which may be a refusal. */
  start(wakings: Wakings, sleeper: Sleeper, goOn: (noRoom: AppError | undefined) => Exchange): void {
    this.client.pauseBody();
    this.giveUp = wakings.wait(sleeper, (noRoom) => this.awake(() => goOn(noRoom)));
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

  /** The sandbox is resumed anyway: the next request finds it. Nothing holds this one any more. */
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
