import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import type { ProcessConfig } from "@boxyard/spec/agent";
import { LIMITS } from "../limits.ts";
import type { Command } from "./command.ts";

export type Selector = { readonly pid: number } | { readonly tag: string };

/**
 * Every command that can be named: those that run, and for a while those that have ended, so that a late reader still learns how. What
 * the ended ones keep is bounded by age, number and memory; their output goes before the fact of their end.
 */
export class Commands {
  private readonly running = new Map<number, Command>();
  /** Oldest first. */
  private ended: { readonly command: Command; readonly at: number }[] = [];
  private readonly clock: Clock;
  /** What the orders of running commands take. */
  private orderBytes = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Has `begin` start a command, which can be named from then on. Throws `resource_exhausted` when what is to be kept of it is too much. */
  async start(order: ProcessConfig, begin: () => Promise<Command>): Promise<Command> {
    const bytes = sizeOf(order);
    if (this.orderBytes + bytes > LIMITS.ordersBytes) {
      const message = "the arguments and environments of the running commands are too large together; end some of them and try again";
      throw new AppError("resource_exhausted", message, { reason: "orders_full" });
    }
    this.orderBytes += bytes;
    try {
      const command = await begin();
      this.add(command);
      void command.finished.then(() => {
        this.orderBytes -= bytes;
      });
      return command;
    } catch (error) {
      this.orderBytes -= bytes;
      throw error;
    }
  }

  private add(command: Command): void {
    // The kernel gave the number to a new process: the old one is no longer what it names.
    this.ended = this.ended.filter((entry) => entry.command.pid !== command.pid);
    this.running.set(command.pid, command);
    void command.finished.then(() => {
      if (this.running.get(command.pid) === command) this.running.delete(command.pid);
      command.forgetOrder();
      this.ended.push({ command, at: this.clock.monotonic() });
      this.trim();
    });
  }

  list(): readonly Command[] {
    return [...this.running.values()];
  }

  /** A running command. Of several with one tag the newest. Throws `not_found`. */
  find(selector: Selector): Command {
    const found = "pid" in selector ? this.running.get(selector.pid) : [...this.running.values()].findLast((c) => c.tag === selector.tag);
    if (!found) throw notFound(selector);
    return found;
  }

  /** As `find`, or one that has ended not long ago. */
  findOrEnded(selector: Selector): Command {
    this.trim();
    try {
      return this.find(selector);
    } catch (error) {
      const match = (c: Command) => ("pid" in selector ? c.pid === selector.pid : c.tag === selector.tag);
      const entry = this.ended.findLast(({ command }) => match(command));
      if (!entry) throw error;
      return entry.command;
    }
  }

  private trim(): void {
    const oldest = this.clock.monotonic() - LIMITS.exitRetentionMs;
    this.ended = this.ended.filter((entry) => entry.at > oldest).slice(-LIMITS.exitRetentionCount);
    // What somebody still reads is not ours to drop, it would be lost to him without a word; it goes with his place.
    const unread = this.ended.filter(({ command }) => !command.isRead);
    let held = unread.reduce((sum, { command }) => sum + command.heldBytes, 0);
    for (const { command } of unread) {
      if (held <= LIMITS.exitRetentionBytes) return;
      held -= command.heldBytes;
      command.forgetOutput();
    }
  }
}

/** About as many bytes as its texts have letters. */
function sizeOf({ cmd, args, envs, cwd }: ProcessConfig): number {
  const texts = [cmd, ...args, ...Object.entries(envs).flat(), cwd ?? ""];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function notFound(selector: Selector): AppError {
  const name = "pid" in selector ? `pid ${selector.pid}` : `tag ${selector.tag}`;
  return new AppError("not_found", `process with ${name} not found`, { reason: "process_not_found" });
}
