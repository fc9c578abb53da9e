import { expect, test } from "bun:test";
import type { Command } from "commander";
import { COMMANDS } from "./commands/index.ts";
import { withTtyFlag } from "./docker-habits.ts";
import { helpExamples, programWith } from "./testing/help-examples.ts";

/** Words of the last `boxyard …` of an example, up to where its command, a pipe or a remark begins; a quoted text is one word. */
function wordsOf(line: string): string[] {
  const plain = line.replaceAll(/'[^']*'/g, "QUOTED").replaceAll(/[()"]/g, " ");
  const [, rest = ""] = /.*(?<!\w)boxyard (.*)$/.exec(plain) ?? [];
  const words = rest.trim().split(/\s+/);
  const end = words.findIndex((word) => ["--", "|", "<", ">", "&&"].includes(word));
  return end < 0 ? words : words.slice(0, end);
}

test("every example in a help text names commands and options that there are", async () => {
  const wrong: string[] = [];
  const examples = await helpExamples();
  for (const { of, text, line } of examples) {
    const [name = "", ...words] = wordsOf(line);
    const loaded = await programWith(name);
    let command = loaded.commands.find((one) => one.name() === name);
    const rest = command ? withTtyFlag(words, command) : words;
    for (let below: Command | undefined; command; command = below) {
      below = command.commands.find((one) => one.name() === rest[0] || one.aliases().includes(rest[0] ?? ""));
      if (!below) break;
      rest.shift();
    }
    const flags = rest.filter((word) => /^--?[a-z]/i.test(word)).map((word) => word.replace(/=.*/, ""));
    const known = (flag: string) => flag === "--help" || command?.options.some(({ short, long }) => short === flag || long === flag);
    if (!command || (command.commands.length > 0 && rest.length > 0) || !flags.every(known)) wrong.push(`${of}: ${text}`);
  }
  expect(wrong).toEqual([]);
  expect(examples.length).toBeGreaterThan(40);
});

test("every command's help has an example, but for the commands that only a checkout runs", async () => {
  const withExample = new Set((await helpExamples()).map(({ of }) => of));
  const without = COMMANDS.filter(({ name, hidden }) => !hidden && !withExample.has(name)).map(({ name }) => name);
  expect(without).toEqual(["test", "bench", "dist"]);
});
