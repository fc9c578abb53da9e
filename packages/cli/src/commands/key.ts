import { ApiKeys } from "@boxyard/sdk/keys";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list and revoke API keys.");
  command
    .command("create <name>")
    .description("Create an API key and print it. It is shown this one time.")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExamples:\n  $ BOXYARD_API_KEY=$(boxyard key create ci)")
    .action((name: string, options: { json?: boolean }) => create(name, options, context));
  command
    .command("list")
    .alias("ls")
    .description("List API keys, the oldest first.")
    .option("--json", "print them as JSON")
    .action((options: { json?: boolean }) => list(options, context));
  command
    .command("revoke <key...>")
    .description("Revoke API keys by their ids: the server refuses them from then on.")
    .action((ids: string[]) => revoke(ids, context));
}

async function create(name: string, options: { json?: boolean }, context: CliContext): Promise<void> {
  const created = await ApiKeys.create(name, await connection(context));
  if (options.json) return context.output.json(created);
  context.output.note(`key ${created.id}; it cannot be shown again:`);
  await context.output.line(created.key);
}

async function list(options: { json?: boolean }, context: CliContext): Promise<void> {
  const keys = await ApiKeys.list(await connectionToRead(context));
  if (options.json) return context.output.json(keys);
  const now = Date.now();
  const ago = (time: Date | undefined) => (time ? `${duration(now - time.getTime())} ago` : "never");
  const rows = keys.map(({ id, name, hint, createdAt, lastUsedAt }) => [id, name, hint, ago(createdAt), ago(lastUsedAt)]);
  await context.output.line(table([["ID", "NAME", "KEY", "CREATED", "LAST USED"], ...rows]));
}

async function revoke(ids: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const id of ids) {
    if (await ApiKeys.revoke(id, target)) await context.output.line(id);
    else {
      context.output.note(`no API key ${id}`);
      context.exitCode = EXIT.failure;
    }
  }
}
