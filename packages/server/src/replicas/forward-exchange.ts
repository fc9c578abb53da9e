import type { ClientConnection, Connection, Exchange } from "@boxyard/http1";
import type { OwnerPlace, OwnerPlaceView } from "./owner-place.ts";

/** Makes the exchange with the owner. `onUnreached` is called when nothing was sent, with what had come of the body. */
export type Connect = (place: OwnerPlace, onUnreached: (early: readonly Buffer[]) => void) => Exchange;

/**
 * A request on its way to the owner. Without an owner it waits for one, and keeps what came of its body meanwhile; it also does when the owner refuses the
 * connection, because then nothing of the request was sent. A request that was sent is never sent again.
 */
export class ForwardExchange implements Exchange {
  private readonly client: ClientConnection;
  private readonly view: OwnerPlaceView;
  private readonly connect: Connect;
  private readonly refuse: () => Exchange;
  private early: Buffer[] = [];
  private isBodyEnded = false;
  private isOver = false;
  private giveUp: (() => void) | undefined;
  private exchange: Exchange | undefined;

  /** `refuse` answers that there is no owner. */
  constructor(client: ClientConnection, view: OwnerPlaceView, connect: Connect, refuse: () => Exchange) {
    this.client = client;
    this.view = view;
    this.connect = connect;
    this.refuse = refuse;
  }

  start(): void {
    const place = this.view.current;
    if (place) this.goOn(place);
    else this.await(0);
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
    this.isOver = true;
    this.giveUp?.();
    this.early = [];
    this.exchange?.onClientClosed();
  }

  private await(after: number): void {
    this.client.pauseBody();
    this.giveUp = this.view.wait(after, (place) => {
      if (this.isOver) return;
      this.client.resumeBody();
      if (place) this.goOn(place);
      else this.hand(this.refuse());
    });
  }

  private goOn(place: OwnerPlace): void {
    this.hand(
      this.connect(place, (early) => {
        this.exchange = undefined;
        this.early = [...early];
        this.await(place.epoch);
      }),
    );
  }

  /** `exchange` takes over the request. */
  private hand(exchange: Exchange): void {
    this.exchange = exchange;
    const { early } = this;
    this.early = [];
    for (const bytes of early) exchange.onBody(bytes);
    if (this.isBodyEnded) exchange.onBodyEnd();
  }
}
