import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";
import type { Route } from "./route-table.ts";

/**
 * A request for a sandbox that is being resumed because of it: it waits, with what has come of its body, and then goes on as the exchange that
 * `goOn` makes, as if the sandbox had been there.
 */
export class WakingExchange implements Exchange {
  private readonly client: ClientConnection;
  private readonly goOn: (route: Route | undefined) => Exchange;
  private readonly early: Buffer[] = [];
  private isBodyEnded = false;
  private isGone = false;
  private exchange: Exchange | undefined;

  constructor(client: ClientConnection, goOn: (route: Route | undefined) => Exchange) {
    this.client = client;
    this.goOn = goOn;
  }

  /** `waking` must not reject: no route, and the client is told that there is no sandbox. */
  start(waking: Promise<Route | undefined>): void {
    this.client.pauseBody();
    void waking.then((route) => this.awake(route));
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

  private awake(route: Route | undefined): void {
    // The sandbox runs all the same: the next request finds it.
    if (this.isGone) return;
    this.client.resumeBody();
    const exchange = this.goOn(route);
    this.exchange = exchange;
    for (const bytes of this.early) exchange.onBody(bytes);
    this.early.length = 0;
    if (this.isBodyEnded) exchange.onBodyEnd();
  }
}
