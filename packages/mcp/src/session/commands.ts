import type { Sandbox } from "@boxyard/sdk";
import { ToolError } from "../errors.ts";
import { RunningCommand } from "./running-command.ts";

const MAX_COMMANDS = 100;
/** Output that a session keeps, of all its commands. */
const SESSION_OUTPUT_BYTES = 2 << 20;

/** The commands of a session, the oldest first. */
export class SessionCommands {
  private readonly commands = new Set<RunningCommand>();

  add(command: RunningCommand): void {
    this.commands.add(command);
  }

  /** Makes room for another command: forgets the oldest that has ended, and the oldest output. Throws when too many run. */
  makeRoom(): void {
    if (this.commands.size >= MAX_COMMANDS) {
      const ended = [...this.commands].find(({ isFollowed }) => !isFollowed);
      if (!ended) throw new ToolError(`${MAX_COMMANDS} commands of this session run.`, "End some with `kill`; `processes` lists them.");
      this.commands.delete(ended);
    }
    let kept = 0;
    for (const { output } of [...this.commands].reverse()) {
      kept += output.end - output.start;
      if (kept > SESSION_OUTPUT_BYTES) output.clear();
    }
  }

  /** A command by its pid: one of the session, or one that runs in the sandbox and that the session connects to now. */
  async find(sandbox: Sandbox, pid: number): Promise<RunningCommand> {
    const own = [...this.commands].findLast((one) => one.pid === pid && one.sandboxId === sandbox.sandboxId);
    if (own) {
      await own.reconnect(sandbox);
      return own;
    }
    this.makeRoom();
    const handle = await sandbox.commands.connect(pid, { timeoutMs: 0, retainOutput: false, fromOffset: 0 });
    const command = new RunningCommand(sandbox.sandboxId, handle);
    this.add(command);
    return command;
  }

  /** Forgets the commands of a sandbox that has ended, or whose processes were replaced. */
  forget(sandboxId: string): void {
    for (const command of this.commands) if (command.sandboxId === sandboxId) this.commands.delete(command);
  }
}
