import type { SystemUser } from "../contracts.ts";
import { openTerminal, type TerminalSize } from "../pty/terminal.ts";
import { closeQuietly, makePipe } from "../sys/native.ts";
import type { CommandParts } from "./command.ts";
import { InputQueue } from "./input-queue.ts";

/** Descriptors of a command, ours and its own. All are open; their maker closes those that it does not hand on. */
export interface Streams {
  readonly stdio: readonly [number | null, number, number];
  readonly theirs: readonly number[];
  readonly ours: readonly number[];
  /** Takes over the descriptor that input goes to; absent where there is no input. */
  readonly openInput: (() => InputQueue) | undefined;
  readonly terminal: number | undefined;
  readonly outputs: CommandParts["outputs"];
}

/** Real pipes for output, and for input unless it is to be /dev/null. */
export function pipeStreams(stdin: boolean, user: SystemUser): Streams {
  const made: number[] = [];
  const pipe = (ours: "read" | "write") => {
    const ends = makePipe(ours, user);
    made.push(ends.read, ends.write);
    return ends;
  };
  try {
    const input = stdin ? pipe("write") : undefined;
    const stdout = pipe("read");
    const stderr = pipe("read");
    return {
      stdio: [input?.read ?? null, stdout.write, stderr.write],
      theirs: [...(input ? [input.read] : []), stdout.write, stderr.write],
      ours: [...(input ? [input.write] : []), stdout.read, stderr.read],
      openInput: input && (() => new InputQueue(input.write)),
      terminal: undefined,
      outputs: [
        { fd: stdout.read, kind: "stdout" },
        { fd: stderr.read, kind: "stderr" },
      ],
    };
  } catch (error) {
    for (const fd of made) closeQuietly(fd);
    throw error;
  }
}

/** One terminal for everything. */
export function terminalStreams(size: TerminalSize, user: SystemUser): Streams {
  const { read, write, program } = openTerminal(size, user);
  return {
    stdio: [program, program, program],
    theirs: [program],
    ours: [read, write],
    openInput: () => new InputQueue(write),
    terminal: write,
    outputs: [{ fd: read, kind: "pty" }],
  };
}
