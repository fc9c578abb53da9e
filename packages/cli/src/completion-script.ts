import type { Command } from "commander";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** A command as completion sees it. */
export interface CompletedCommand {
  /** Words after `boxyard`; empty for the program itself. */
  readonly path: readonly string[];
  readonly summary: string;
  readonly subcommands: readonly string[];
  readonly options: readonly { readonly flags: readonly string[]; readonly summary: string }[];
}

/** Every command of the program, itself first. */
export function describeCommands(program: Command, path: readonly string[] = []): CompletedCommand[] {
  const options = [...program.options, program.createOption("-h, --help", "show help")].map((option) => ({
    flags: [option.short, option.long].filter((flag) => flag !== undefined && flag !== null),
    summary: option.description,
  }));
  const own = { path, summary: program.summary() || program.description(), subcommands: program.commands.map((c) => c.name()), options };
  return [own, ...program.commands.flatMap((command) => describeCommands(command, [...path, command.name()]))];
}

export function completionScript(shell: Shell, commands: readonly CompletedCommand[]): string {
  return { bash, zsh, fish }[shell](commands);
}

/** Words that may follow a command: its subcommands and options. */
const words = ({ subcommands, options }: CompletedCommand) => [...subcommands, ...options.flatMap(({ flags }) => flags)].join(" ");

/** The longest run of words that names a command decides what may follow; files where nothing does. */
function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => `    "${command.path.join(" ")}") words="${words(command)}" ;;`).join("\n");
  const names = commands.map(({ path }) => `"${path.join(" ")}"`).join("|");
  return `# boxyard completion for bash
_boxyard() {
  local cur=\${COMP_WORDS[COMP_CWORD]} path="" words="" i next
  for ((i = 1; i < COMP_CWORD; i++)); do
    next="\${path:+$path }\${COMP_WORDS[i]}"
    case "$next" in ${names}) path=$next ;; esac
  done
  case "$path" in
${cases}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _boxyard boxyard
`;
}

function zsh(commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => `    "${command.path.join(" ")}") list=(${words(command)}) ;;`).join("\n");
  const names = commands.map(({ path }) => `"${path.join(" ")}"`).join("|");
  return `#compdef boxyard
# boxyard completion for zsh
_boxyard() {
  local at="" next i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    next="\${at:+$at }\${words[i]}"
    case "$next" in ${names}) at=$next ;; esac
  done
  case "$at" in
${cases}
  esac
  compadd -a list
  _files
}
compdef _boxyard boxyard
`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const lines = ["# boxyard completion for fish"];
  for (const { path, subcommands, options } of commands) {
    const condition =
      path.length === 0 ? "__fish_use_subcommand" : path.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
    for (const name of subcommands) {
      const summary = commands.find((c) => c.path.join(" ") === [...path, name].join(" "))?.summary ?? "";
      lines.push(`complete -c boxyard -f -n '${condition}' -a ${name} -d '${quoted(summary)}'`);
    }
    for (const { flags, summary } of options) {
      const short = flags.filter((flag) => !flag.startsWith("--")).map((flag) => ` -s ${flag.slice(1)}`);
      const long = flags.filter((flag) => flag.startsWith("--")).map((flag) => ` -l ${flag.slice(2)}`);
      lines.push(`complete -c boxyard -n '${condition}'${short.join("")}${long.join("")} -d '${quoted(summary)}'`);
    }
  }
  return `${lines.join("\n")}\n`;
}

const quoted = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("'", "\\'");
