import { VERSION } from "@boxyard/core";
import { Command, CommanderError, InvalidArgumentError } from "commander";
import { COMMANDS, type CommandEntry } from "./commands/index.ts";
import type { CliContext } from "./context.ts";
import { withTtyFlag } from "./docker-habits.ts";
import { EXIT, usageError } from "./errors.ts";

const EXAMPLES = `
Examples:
  $ boxyard run -- python3 -c 'print(6*7)'      a command in a sandbox of its own
  $ boxyard shell                               a terminal in one
  $ eval "$(boxyard env)"                       variables for the SDKs
  $ boxyard doctor                              what this machine can do

The server runs on this machine and is set up and started on first use. With BOXYARD_API_URL and
BOXYARD_API_KEY set, commands go to a server elsewhere.`;

/** The whole command line; `argv` is what follows the program's name. Resolves with the exit code. */
export async function runProgram(argv: readonly string[], context: CliContext): Promise<number> {
  const program = await buildProgram(argv, context);
  const used = program.commands.find((command) => command.name() === argv[0] || command.aliases().includes(argv[0] ?? ""));
  const words = used ? [argv[0] as string, ...withTtyFlag(argv.slice(1), used)] : [...argv];
  try {
    await program.parseAsync(words, { from: "user" });
    return context.exitCode;
  } catch (error) {
    // Thrown by a command itself, when nobody has printed it yet.
    if (error instanceof InvalidArgumentError) throw usageError(error.message);
    // Help and version end with an error too; commander has printed the text.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : (context.failureExitCode ?? EXIT.usage);
    throw error;
  }
}

/** The program with the used command loaded; the other commands have only name and summary. */
export async function buildProgram(argv: readonly string[], context: CliContext): Promise<Command> {
  const program = newProgram();
  const used = argv.find((argument) => !argument.startsWith("-"));
  // `boxyard help run` shows what `boxyard run --help` does.
  const wanted = used === "help" ? argv[argv.indexOf("help") + 1] : used;
  for (const entry of COMMANDS) await addCommand(program, entry, entry.name === wanted, context);
  return program;
}

function newProgram(): Command {
  return new Command("boxyard")
    .description("Isolated sandboxes for AI agents and other code that you do not trust.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .addHelpText("after", EXAMPLES)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride();
}

async function addCommand(program: Command, entry: CommandEntry, load: boolean, context: CliContext): Promise<void> {
  // `command` passes on the settings above.
  const command = program
    .command(entry.name, { hidden: entry.hidden === true })
    .summary(entry.summary)
    .description(`${entry.summary}.`);
  if (load) (await entry.load()).configure(command, context, buildProgram);
}
