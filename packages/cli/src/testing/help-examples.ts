import type { Command } from "commander";
import { COMMANDS } from "../commands/index.ts";
import { readConfig } from "../config.ts";
import { listenForInterrupt } from "../interrupt.ts";
import { Output } from "../output/output.ts";
import { buildProgram } from "../program.ts";

const interrupt = listenForInterrupt(() => {});
const output = new Output(false);
const context = () => ({ config: readConfig({}), output, signal: interrupt.signal, interrupt, exitCode: 0 });

/** One example of a help text. */
export interface HelpExample {
  /** The command whose help has it, such as `run`. */
  readonly of: string;
  /** As it stands there, with the remark behind it. */
  readonly text: string;
  /** Without the remark: what a person types. */
  readonly line: string;
}

/** The program with this command loaded. */
export const programWith = (name: string): Promise<Command> => buildProgram([name], context());

/** The help of a command, with what stands before and after it. */
function helpOf(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) });
  command.outputHelp();
  return parts.join("");
}

const withBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(withBelow)];

/** Every example of every help text, in the order of the commands. */
export async function helpExamples(): Promise<HelpExample[]> {
  const found: HelpExample[] = [];
  for (const { name, hidden } of COMMANDS) {
    if (hidden) continue;
    const own = (await programWith(name)).commands.find((command) => command.name() === name) as Command;
    for (const text of withBelow(own).flatMap((command) => helpOf(command).split("\n"))) {
      if (!/^ {2}\$ .*\bboxyard /.test(text)) continue;
      found.push({ of: name, text: text.trim(), line: text.replace(/^ {2}\$ /, "").replace(/(\S) {3,}.*$/, "$1") });
    }
  }
  return found;
}
