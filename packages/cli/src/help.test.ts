import { expect, test } from "bun:test";
import type { Command } from "commander";
import { COMMANDS } from "./commands/index.ts";
import { readConfig } from "./config.ts";
import { withTtyFlag } from "./docker-habits.ts";
import { listenForInterrupt } from "./interrupt.ts";
import { Output } from "./output/output.ts";
import { buildProgram } from "./program.ts";

const interrupt = listenForInterrupt(() => {});
const output = new Output(false);
const context = () => ({ config: readConfig({}), output, signal: interrupt.signal, interrupt, exitCode: 0 });

/** The help of a command, with what stands before and after it. */
function helpOf(command: Command): string {
  const parts: string[] = [];
  command.configureOutput({ writeOut: (part) => void parts.push(part) });
  command.outputHelp();
  return parts.join("");
}

const withBelow = (command: Command): Command[] => [command, ...command.commands.flatMap(withBelow)];

/** Words of the last `boxyard …` of an example, up to where its command, a pipe or a remark begins; a quoted text is one word. */
function wordsOf(example: string): string[] {
  const plain = example.replaceAll(/'[^']*'/g, "QUOTED").replaceAll(/[()"]/g, " ");
  const [, rest = ""] = /.*(?<!\w)boxyard (.*)$/.exec(plain.replace(/(\S) {3,}.*$/, "$1")) ?? [];
  const words = rest.trim().split(/\s+/);
  const end = words.findIndex((word) => ["--", "|", "<", ">", "&&"].includes(word));
  return end < 0 ? words : words.slice(0, end);
}

test("every example in a help text names commands and options that there are", async () => {
  const wrong: string[] = [];
  let examples = 0;
  for (const entry of COMMANDS) {
    if (entry.hidden) continue;
    const program = await buildProgram([entry.name], context());
    const own = program.commands.find((command) => command.name() === entry.name) as Command;
    for (const line of withBelow(own).flatMap((command) => helpOf(command).split("\n"))) {
      if (!/^ {2}\$ .*\bboxyard /.test(line)) continue;
      examples++;
      const [name = "", ...words] = wordsOf(line);
      const loaded = await buildProgram([name], context());
      let command = loaded.commands.find((one) => one.name() === name);
      const rest = command ? withTtyFlag(words, command) : words;
      for (let below: Command | undefined; command; command = below) {
        below = command.commands.find((one) => one.name() === rest[0] || one.aliases().includes(rest[0] ?? ""));
        if (!below) break;
        rest.shift();
      }
      const flags = rest.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.replace(/=.*/, ""));
      const known = (flag: string) => flag === "--help" || command?.options.some(({ short, long }) => short === flag || long === flag);
      if (!command || (command.commands.length > 0 && rest.length > 0) || !flags.every(known)) wrong.push(`${entry.name}: ${line.trim()}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(examples).toBeGreaterThan(40);
});
