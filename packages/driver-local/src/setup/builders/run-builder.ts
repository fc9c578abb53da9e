import { join } from "node:path";
import { AppError, type ErrorCode } from "@boxyard/core";
import { CHECKOUT } from "../checkout.ts";

export interface Builder {
  /** What it makes, for the error. */
  readonly what: string;
  /** The program, relative to the checkout; its only argument is the target. */
  readonly program: string;
  readonly limitMs: number;
  /** Code and reason of the error. */
  readonly code: ErrorCode;
  readonly reason: string;
}

/** Runs a program of the checkout that makes `target`, in a process of its own. Throws with the end of what it printed when it fails. */
export async function runBuilder(builder: Builder, target: string, env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { what, program, limitMs, code, reason } = builder;
  const child = Bun.spawn([process.execPath, join(CHECKOUT, program), target], {
    cwd: "/",
    env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: limitMs,
  });
  const output = (await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])).join("").trim();
  const status = await child.exited;
  if (status !== 0) throw new AppError(code, `${what} cannot be built (status ${status}): ${output.slice(-2000)}`, { reason });
}
