import type { ClientConnection, Exchange } from "@boxyard/http1";
import { HeldExchange } from "../proxy/held-exchange.ts";
import type { OwnerPlace, OwnerPlaceView } from "./owner-place.ts";

/** Makes the exchange with the owner. `onUnreached` is called when nothing was sent, with what had come of the body. */
export type Connect = (place: OwnerPlace, onUnreached: (early: readonly Buffer[]) => void) => Exchange;

/**
 * A request on its way to the owner. Without an owner it waits for one; it also does when the owner refuses the connection, because then nothing of the
 * request was sent. A request that was sent is never sent again.
 */
export class ForwardExchange extends HeldExchange {
  private readonly view: OwnerPlaceView;
  private readonly connect: Connect;
  private readonly refuse: () => Exchange;
  private isOver = false;
  private leave: (() => void) | undefined;

  /** `refuse` answers that there is no owner. */
  constructor(client: ClientConnection, view: OwnerPlaceView, connect: Connect, refuse: () => Exchange) {
    super(client);
    this.view = view;
    this.connect = connect;
    this.refuse = refuse;
  }

  start(): void {
    const place = this.view.current;
    if (place) this.goOn(place);
    else this.await(0);
  }

  protected giveUp(): void {
    this.isOver = true;
    this.leave?.();
  }

  private await(after: number): void {
    this.client.pauseBody();
    this.leave = this.view.wait(after, (place) => {
      if (this.isOver) return;
      this.client.resumeBody();
      if (place) this.goOn(place);
      else this.hand(this.refuse());
    });
  }

  private goOn(place: OwnerPlace): void {
    this.hand(
      this.connect(place, (early) => {
        this.holdAgain(early);
        this.await(place.epoch);
      }),
    );
  }
}
