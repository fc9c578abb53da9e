import { openForReading } from "../../sys/open-file.ts";
import { pause } from "../../timers.ts";
import { Helper, type Launched } from "./helper.ts";
import type { LaunchOrder } from "./order.ts";
import { launchFailed } from "./refusal.ts";

/** How long an order waits for room in launch's queue, and the longest pause between two attempts. */
const PATIENCE_MS = 5_000;
const LONGEST_PAUSE_MS = 20;

/** Starts commands through the guest bundle's `launch`, one process for all. When it ends, its commands end; the next command starts another. */
export class Launcher {
  private readonly path: string;
  private helper: Helper | undefined;
  private nothing: number | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Starts `launch` ahead of the first command. Never throws: that command reports the failure. */
  warmUp(): void {
    try {
      this.current();
    } catch {
      // The first command tries again.
    }
  }

  /** Resolves when the command runs, or says why it can't. The order's descriptors may be closed once `onTaken` has been called. */
  async launch(order: LaunchOrder, onTaken: () => void): Promise<Launched> {
    const giveUpAt = performance.now() + PATIENCE_MS;
    let launched = this.ask(order);
    for (let pauseMs = 1; launched === "full"; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      if (performance.now() >= giveUpAt) throw launchFailed("its helper takes no orders");
      await pause(pauseMs);
      launched = this.ask(order);
    }
    onTaken();
    return launched;
  }

  private ask(order: LaunchOrder): Promise<Launched> | "full" {
    const [stdin, stdout, stderr] = order.stdio;
    const stdio = [stdin ?? this.devNull(), stdout, stderr] as const;
    let launched = this.current().ask(order, stdio);
    // The helper had ended and took nothing, so the order goes to a new one.
    if (launched === "gone") launched = this.current().ask(order, stdio);
    if (launched === "gone") throw launchFailed("its helper ends at once");
    return launched;
  }

  private current(): Helper {
    this.helper ??= Helper.start(this.path, () => {
      this.helper = undefined;
    });
    return this.helper;
  }

  private devNull(): number {
    this.nothing ??= openForReading("/dev/null");
    return this.nothing;
  }
}
