import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";

/** A request that waits before another exchange takes it over. What comes of its body meanwhile is kept, and no more of it is read. */
export abstract class HeldExchange implements Exchange {
  protected readonly client: ClientConnection;
  private early: Buffer[] = [];
  private isBodyEnded = false;
  private exchange: Exchange | undefined;

  constructor(client: ClientConnection) {
    this.client = client;
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

  onClientClosed(): void {
    this.giveUp();
    this.early = [];
    this.exchange?.onClientClosed();
  }

  /** Ends the wait: the client is gone. */
  protected abstract giveUp(): void;

  /** `exchange` takes over the request. */
  protected hand(exchange: Exchange): void {
    this.exchange = exchange;
    const { early } = this;
    this.early = [];
    for (const bytes of early) exchange.onBody(bytes);
    if (this.isBodyEnded) exchange.onBodyEnd();
  }

  /** The exchange that had taken over gives the request back, with what had come of the body. */
  protected holdAgain(early: readonly Buffer[]): void {
    this.exchange = undefined;
    this.early = [...early];
  }
}
