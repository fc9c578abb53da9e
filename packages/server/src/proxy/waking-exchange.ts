import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";

/**
 * A request for a sandbox that is being resumed because of it: it waits, with what has come of its body, and then goes on as if the sandbox
 * had been there.
 */
export class WakingExchange implements Exchange {
  private readonly client: ClientConnection;
  private readonly early: Buffer[] = [];
  private isBodyEnded = false;
  private isGone = false;
  private exchange: Exchange | undefined;

  constructor(client: ClientConnection) {
    this.client = client;
  }

  /** `waking` must not reject: it gives what makes the exchange that the request goes on as, which may be a refusal. */
  start(waking: Promise<() => Exchange>): void {
    this.client.pauseBody();
    void waking.then((goOn) => this.awake(goOn));
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
    this.isGone = true;
    this.exchange?.onClientClosed();
  }

  private awake(goOn: () => Exchange): void {
    // The sandbox runs anyway: the next request finds it.
    if (this.isGone) return;
    this.client.resumeBody();
    const exchange = goOn();
    this.exchange = exchange;
    for (const bytes of this.early) exchange.onBody(bytes);
    this.early.length = 0;
    if (this.isBodyEnded) exchange.onBodyEnd();
  }
}
