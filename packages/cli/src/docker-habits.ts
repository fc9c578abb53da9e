import type { Command } from "commander";

/**
 * The words of a command line with `-it` and `-ti` written as `--tty`, where the command has that option: there `-t` may be short for something
 * else. Only the command's own options are looked at, up to its first word or `--`.
 */
export function withTtyFlag(words: readonly string[], command: Command): string[] {
  const result = [...words];
  if (!command.options.some(({ long }) => long === "--tty")) return result;
  for (let i = 0; i < result.length; i++) {
    const word = result[i] as string;
    if (word === "--" || !word.startsWith("-")) break;
    if (word === "-it" || word === "-ti") result[i] = "--tty";
    // The next word is this option's value.
    else if (command.options.some((option) => option.required && (option.short === word || option.long === word))) i++;
  }
  return result;
}
