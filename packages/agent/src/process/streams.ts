import type { SystemUser } from "../contracts.ts";
import { openTerminal, type TerminalSize } from "../pty/terminal.ts";
import { closeQuietly, makePipe } from "../sys/native.ts";
import type { CommandParts } from "./command.ts";
import { InputQueue } from "./input-queue.ts";

/** Descriptors of a command: `ours` are the agent's ends, `theirs` the command's. All are open; the caller closes or passes on each. */
export interface Streams {
  readonly stdio: readonly [number | null, number, number];
  readonly theirs: readonly number[];
  readonly ours: readonly number[];
  /** Takes ownership of the descriptor for input; absent where standard input is /dev/null. */
  readonly openInput: (() => InputQueue) | undefined;
  readonly terminal: number | undefined;
  readonly outputs: CommandParts["outputs"];
}

/** Pipes for output, and for input if `stdin`. */
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

/** One terminal for input and output. */
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
