import { openSync } from "node:fs";
import { Helper, type Launched } from "./helper.ts";
import type { LaunchOrder } from "./order.ts";
import { launchFailed } from "./refusal.ts";

/**
 * Starts commands through the guest bundle's `launch`: one process for all of them. Whoever ends it ends the commands with it; the next
 * command gets a new one.
 */
export class Launcher {
  private readonly path: string;
  private helper: Helper | undefined;
  private nothing: number | undefined;

  constructor(path: string) {
    this.path = path;
  }

  /** Starts the process ahead of the first command. A failure is left to that command to tell. */
  warmUp(): void {
    try {
      this.current();
    } catch {
      // See above.
    }
  }

  /** Resolves when the command runs, or says why it can't. The order's descriptors may be closed as soon as this returns. */
  launch(order: LaunchOrder): Promise<Launched> {
    const [stdin, stdout, stderr] = order.stdio;
    const stdio = [stdin ?? this.devNull(), stdout, stderr] as const;
    // A helper that has ended unseen took nothing: the order is still there for a new one.
    const launched = this.current().ask(order, stdio) ?? this.current().ask(order, stdio);
    return launched ?? Promise.reject(launchFailed("its helper ends at once"));
  }

  private current(): Helper {
    this.helper ??= Helper.start(this.path, () => {
      this.helper = undefined;
    });
    return this.helper;
  }

  private devNull(): number {
    this.nothing ??= openSync("/dev/null", "r");
    return this.nothing;
  }
}
