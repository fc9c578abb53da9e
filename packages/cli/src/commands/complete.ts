import type { Command } from "commander";
import type { BuildProgram } from "../command-module.ts";
import { complete, type Kind } from "../completion/candidates.ts";
import type { CliContext } from "../context.ts";

/** The scripts in `completion/scripts.ts` run this command. */
export function configure(command: Command, context: CliContext, build: BuildProgram): void {
  command
    .argument("[words...]", "what follows the program's name, up to the cursor")
    .action((words: string[]) => printCandidates(words, context, build));
}

async function printCandidates(words: readonly string[], context: CliContext, build: BuildProgram): Promise<void> {
  const program = await build(words, context);
  // Most words are completed without asking the server.
  const look = async (kind: Kind) => (await import("../completion/lookup.ts")).lookUp(kind, context);
  const { candidates, files } = await complete(program, words, look);
  const lines = candidates.map(({ word, summary }) => `${word}\t${summary.replaceAll(/\s+/g, " ")}`);
  if (files) lines.push(":files");
  if (lines.length > 0) await context.output.line(lines.join("\n"));
}
