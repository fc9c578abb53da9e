import type { RunningCommand } from "../session/running-command.ts";

const EVERY_MS = 200;
const MESSAGE_BYTES = 1000;

/** Waits for a command and shows its output to the client meanwhile, in messages of bounded size and number. */
export async function waitWithProgress(
  command: RunningCommand,
  limitMs: number,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: ((message: string) => void) | undefined },
): Promise<void> {
  if (!progress) return command.wait(limitMs, signal, () => {});
  let sent = command.shown;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const send = () => {
    timer = undefined;
    // Of much output the client sees the end; the result has more.
    const { text, to } = command.output.readLast(sent, MESSAGE_BYTES);
    sent = to;
    if (text !== "") progress(text);
  };
  try {
    await command.wait(limitMs, signal, () => {
      timer ??= setTimeout(send, EVERY_MS);
    });
  } finally {
    clearTimeout(timer);
    if (!signal.aborted) send();
  }
}
