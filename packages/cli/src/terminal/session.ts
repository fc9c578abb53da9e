import type { CommandHandle, Sandbox } from "@boxyard/sdk";
import type { CliContext } from "../context.ts";
import { shellExitCode } from "../signals.ts";
import { DetachKeys } from "./detach-keys.ts";

export type SessionEnd = { readonly detached: true } | { readonly detached: false; readonly exitCode: number };

export interface Size {
  readonly cols: number;
  readonly rows: number;
}

/** Size of our own terminal; 80 × 24 where there is none. */
export function terminalSize(): Size {
  return { cols: process.stdout.columns || 80, rows: process.stdout.rows || 24 };
}

/**
 * Connects our terminal with a remote one until that ends or the keys to detach are typed. Every key goes through, Ctrl-C too; the size of
 * our window is followed; and our terminal is restored, however this ends.
 */
export async function runSession(sandbox: Sandbox, session: CommandHandle, context: CliContext): Promise<SessionEnd> {
  const { stdin } = process;
  const keys = new DetachKeys();
  let detached = false;
  const onInput = (chunk: Uint8Array) => {
    const { input, detach } = keys.read(chunk);
    // What was typed into a session that has just ended is lost, as in every terminal.
    if (input.length > 0) session.sendStdin(input).catch(() => {});
    if (!detach) return;
    detached = true;
    void session.disconnect();
  };
  const onEnd = () => void session.closeStdin().catch(() => {});
  const onResize = () => void sandbox.pty.resize(session.pid, terminalSize()).catch(() => {});
  const onSignal = () => void session.disconnect();
  setRaw(true);
  stdin.on("data", onInput);
  stdin.once("end", onEnd);
  process.on("SIGWINCH", onResize);
  context.signal.addEventListener("abort", onSignal);
  try {
    for await (const { data } of session) await context.output.write(data);
    if (detached) return { detached: true };
    return { detached: false, exitCode: shellExitCode(await session.waitForEnd()) };
  } catch (error) {
    if (detached) return { detached: true };
    throw error;
  } finally {
    context.signal.removeEventListener("abort", onSignal);
    process.off("SIGWINCH", onResize);
    stdin.off("data", onInput);
    stdin.pause();
    setRaw(false);
  }
}

function setRaw(raw: boolean): void {
  if (process.stdin.isTTY) process.stdin.setRawMode(raw);
}
