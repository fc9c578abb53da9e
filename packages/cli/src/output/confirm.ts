import { createInterface } from "node:readline/promises";
import { AppError } from "@boxyard/core";
import type { Output } from "./output.ts";

interface Asking {
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** True where somebody can be asked. */
export const canAsk = (): boolean => process.stdin.isTTY === true && process.stderr.isTTY === true;

/** Asks a person, who must answer `y` or `yes`. Anything else, and Ctrl-C, throws `canceled`. */
export async function confirm(question: string, { output, signal }: Asking): Promise<void> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await lines.question(`${output.bold(question)} [y/N] `, { signal });
    if (/^y(es)?$/i.test(answer.trim())) return;
  } catch (cause) {
    if (!signal.aborted) throw cause;
  } finally {
    lines.close();
  }
  throw new AppError("canceled", "nothing has been done", { reason: "not_confirmed" });
}
