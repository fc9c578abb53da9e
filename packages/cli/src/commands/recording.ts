import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { parseCount } from "../options.ts";
import * as actions from "../recording/actions.ts";

const LIST_HELP = `
Examples:
  $ boxyard run --record page -- sh -c 'curl -s https://example.com/; true'
  $ boxyard recording list
  $ boxyard run --replay page -- sh -c 'curl -s https://example.com/; true'`;

const ARCHIVE_HELP = `
The archive is JSON (HAR 1.2). '-' as FILE is standard output, or standard input. An import makes a whole recording, or none.

Examples:
  $ boxyard recording export page page.har
  $ boxyard recording import page.har copy`;

export function configure(command: Command, context: CliContext): void {
  command.description("List, show, export, import and delete recordings: what sandboxes with --record asked for by HTTP, and got.");

  command
    .command("list")
    .alias("ls")
    .description("List recordings, the oldest first.")
    .option("--json", "print them as JSON")
    .addHelpText("after", LIST_HELP)
    .action((options: actions.JsonOptions) => actions.list(options, context));

  command
    .command("show <recording>")
    .description("Show a recording with its newest exchanges.")
    .option("--limit <count>", "so many exchanges, 1000 at most", parseCount, 100)
    .option("--json", "print it as JSON")
    .action((name: string, options: actions.ShowOptions) => actions.show(name, options, context));

  command
    .command("export <recording> <file>")
    .description("Write a recording to an archive of exchanges (HAR).")
    .addHelpText("after", ARCHIVE_HELP)
    .action((name: string, file: string) => actions.exportTo(name, file, context));

  command
    .command("import <file> <name>")
    .description("Make a recording of an archive of exchanges (HAR), of a browser for example.")
    .action((file: string, name: string) => actions.importFrom(file, name, context));

  command
    .command("delete <recording...>")
    .alias("rm")
    .description("Delete recordings. One that a sandbox uses, also a paused one, is refused.")
    .action((names: string[]) => actions.remove(names, context));
}
