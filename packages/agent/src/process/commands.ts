import type { Clock } from "@boxyard/core";
import { AppError } from "@boxyard/core";
import type { ProcessConfig } from "@boxyard/spec/agent";
import { LIMITS } from "../limits.ts";
import type { Command } from "./command.ts";
import { EndedCommands } from "./ended-commands.ts";
import type { Journal } from "./journal.ts";

export type Selector = { readonly pid: number } | { readonly tag: string };

/** What a reader can connect to. */
export type Readable = Pick<Command, "pid" | "tag" | "subscribe">;

/** The running commands, and for a while those that have ended. */
export class Commands {
  private readonly running = new Map<number, Command>();
  private readonly ended: EndedCommands;
  private readonly journal: Pick<Journal, "follow"> | undefined;
  /** Bytes of the orders of running commands. */
  private orderBytes = 0;

  /** `journal` follows each command that starts. */
  constructor(clock: Clock, journal?: Pick<Journal, "follow">) {
    this.journal = journal;
    this.ended = new EndedCommands(clock);
  }

  /** Calls `begin` to start a command, and keeps it. Throws `resource_exhausted` when the orders of running commands would exceed `ordersBytes`. */
  async start(order: ProcessConfig, begin: () => Promise<Command>): Promise<Command> {
    const bytes = sizeOf(order);
    if (this.orderBytes + bytes > LIMITS.ordersBytes) {
      const message = "the arguments and environments of the running commands are too large together; end some of them and try again";
      throw new AppError("resource_exhausted", message, { reason: "orders_full" });
    }
    this.orderBytes += bytes;
    try {
      const command = await begin();
      this.add(command, bytes);
      return command;
    } catch (error) {
      this.orderBytes -= bytes;
      throw error;
    }
  }

  private add(command: Command, orderBytes: number): void {
    this.ended.forget(command.pid);
    this.running.set(command.pid, command);
    this.journal?.follow(command);
    void command.finished.then(() => {
      this.orderBytes -= orderBytes;
      if (this.running.get(command.pid) === command) this.running.delete(command.pid);
      this.ended.add(command.rest());
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

  /** As `find`, also for commands that ended recently. */
  findOrEnded(selector: Selector): Readable {
    try {
      return this.find(selector);
    } catch (error) {
      const end = "pid" in selector ? this.ended.findByPid(selector.pid) : this.ended.findByTag(selector.tag);
      if (!end) throw error;
      return end;
    }
  }
}

/** Approximate bytes of an order: the number of characters. */
function sizeOf({ cmd, args, envs, cwd }: ProcessConfig): number {
  const texts = [cmd, ...args, ...Object.entries(envs).flat(), cwd ?? ""];
  return texts.reduce((sum, text) => sum + text.length, 0);
}

function notFound(selector: Selector): AppError {
  const name = "pid" in selector ? `pid ${selector.pid}` : `tag ${selector.tag}`;
  return new AppError("not_found", `process with ${name} not found`, { reason: "process_not_found" });
}
