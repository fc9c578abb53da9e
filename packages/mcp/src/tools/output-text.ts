import type { RunningCommand } from "../session/running-command.ts";

/** Most output in one result: of a longer one the beginning and the end are shown. */
export const RESULT_BYTES = 16_000;
const BEGINNING_BYTES = 4000;

/** The state of a command, and its output since the last result. */
export function outputText(command: RunningCommand): string {
  const { output, shown } = command;
  command.shown = output.end;
  const from = Math.max(shown, output.start);
  const parts = [stateOf(command), ...missing(shown, from)];
  if (output.end - from <= RESULT_BYTES) return [...parts, output.read(from, RESULT_BYTES).text].join("\n");
  const beginning = output.read(from, BEGINNING_BYTES);
  const end = output.readLast(beginning.to, RESULT_BYTES - BEGINNING_BYTES);
  const leftOut = `[bytes ${beginning.to} to ${end.from} left out: read them with wait {"pid": ${command.pid}, "from": ${beginning.to}}]`;
  return [...parts, beginning.text, leftOut, end.text].join("\n");
}

/** A part of a command's output, from a byte on. */
export function outputPart(command: RunningCommand, from: number): string {
  const { output } = command;
  const part = output.read(from, RESULT_BYTES);
  const more = part.to < output.end ? [`[more: wait {"pid": ${command.pid}, "from": ${part.to}}]`] : [];
  return [stateOf(command), ...missing(from, part.from), part.text, ...more].join("\n");
}

const missing = (wanted: number, from: number): string[] =>
  from > wanted ? [`[bytes ${wanted} to ${from} are not kept any more; write long output to a file and \`read\` that]`] : [];

function stateOf({ end, pid, startedAt }: RunningCommand): string {
  if (!end) return `still running, pid ${pid} (\`wait\` for more, \`input\`, \`kill\`)`;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  // The agent knows what an exit code cannot say, such as that the memory was used up.
  return end.exited
    ? `exit code ${end.exitCode} (pid ${pid}, ${seconds} s)`
    : `${end.error ?? "ended by a signal"} (pid ${pid}, ${seconds} s)`;
}
