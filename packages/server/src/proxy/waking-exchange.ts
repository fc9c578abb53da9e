import type { AppError } from "@boxyard/core";
import type { Exchange } from "@boxyard/http1";
import { HeldExchange } from "./held-exchange.ts";
import type { Sleeper } from "./route-table.ts";
import type { WakeQueue } from "./wake-queue.ts";

/** A request that waits for the resume of its sandbox. Then it goes on as if the sandbox had been running. */
export class WakingExchange extends HeldExchange {
  private leave: (() => void) | undefined;

  /** `goOn` makes the exchange that takes over the request, which may be a refusal. */
  start(wakeQueue: WakeQueue, sleeper: Sleeper, goOn: (noRoom: AppError | undefined) => Exchange): void {
    this.client.pauseBody();
    this.leave = wakeQueue.wait(sleeper, (noRoom) => {
      this.client.resumeBody();
      this.hand(goOn(noRoom));
    });
  }

  /** The resume goes on: the next request finds the sandbox running. */
  protected giveUp(): void {
    this.leave?.();
  }
}
