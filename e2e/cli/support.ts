import { boxyardCommand, type Platform, type ProgramOptions, type ProgramResult, runProgram } from "@boxyard/testkit";

export const BOXYARD = boxyardCommand();

/** `boxyard …` against a running platform, with nothing but what `boxyard env` prints. */
export function boxyard(platform: Platform, args: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
  return runProgram([BOXYARD, ...args], { ...options, env: { ...platform.env, ...options.env } });
}

/** A sandbox of the command line, ended with its block. */
export async function sandboxOf(platform: Platform, args: readonly string[] = []): Promise<AsyncDisposable & { id: string }> {
  const created = await boxyard(platform, ["sandbox", "create", ...args]);
  const id = created.stdout.trim();
  if (created.exitCode !== 0) throw new Error(`sandbox create failed: ${created.stderr}`);
  return { id, [Symbol.asyncDispose]: async () => void (await boxyard(platform, ["sandbox", "kill", id])) };
}
