import { Secrets } from "@boxyard/sdk/secrets";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { collectPairs } from "../options.ts";
import { readSecretValue } from "../output/secret-value.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";

interface WriteOptions {
  readonly metadata?: Record<string, string>;
}

const VALUE_HELP = `
The value is what standard input has, without a newline at its end; in a terminal it is asked for, and not shown. It cannot be an argument: all
users of the machine see those.

Examples:
  $ boxyard secret create password < password
  $ printenv HOME | boxyard secret create home --metadata owner=me`;
const UPDATE_HELP = "\nExamples:\n  $ boxyard secret update password < password";

export function configure(command: Command, context: CliContext): void {
  command.description("Store secrets, and list and delete them. Their values cannot be read again.");
  command
    .command("create <name>")
    .description("Store a secret and print its id.")
    .option("--metadata <KEY=VALUE>", "a text beside it, which is not secret; several times", collectPairs)
    .addHelpText("after", VALUE_HELP)
    .action((name: string, options: WriteOptions) => create(name, options, context));
  command
    .command("update <secret>")
    .description("Give a secret its next value, and print its new version.")
    .option("--metadata <KEY=VALUE>", "replaces all metadata that it has; several times", collectPairs)
    .addHelpText("after", UPDATE_HELP)
    .action((secret: string, options: WriteOptions) => update(secret, options, context));
  command
    .command("list")
    .alias("ls")
    .description("List secrets, the oldest first, without their values.")
    .option("--json", "print them as JSON")
    .action((options: { json?: boolean }) => list(options, context));
  command
    .command("info <secret>")
    .description("Show a secret, by its name or id, without its value.")
    .action(async (secret: string) => context.output.json(await Secrets.get(secret, await connectionToRead(context))));
  command
    .command("delete <secret...>")
    .alias("rm")
    .description("Delete secrets, by their names or ids.")
    .action((secrets: string[]) => remove(secrets, context));
}

async function create(name: string, { metadata }: WriteOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const value = await readSecretValue(name, context);
  await context.output.line((await Secrets.create(name, value, { ...target, metadata })).secretId);
}

async function update(secret: string, { metadata }: WriteOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const value = await readSecretValue(secret, context);
  await context.output.line(String((await Secrets.update(secret, value, { ...target, metadata })).version));
}

async function list({ json }: { json?: boolean }, context: CliContext): Promise<void> {
  const secrets = [];
  for await (const secret of Secrets.list(await connectionToRead(context))) secrets.push(secret);
  if (json) return context.output.json(secrets);
  if (secrets.length === 0) return context.output.note("no secrets");
  const ago = (time: Date) => `${duration(Date.now() - time.getTime())} ago`;
  const rows = secrets.map(({ name, secretId, version, createdAt, updatedAt }) => [
    ...[name, secretId, String(version), ago(createdAt), ago(updatedAt)],
  ]);
  await context.output.line(table([["NAME", "ID", "VERSION", "CREATED", "CHANGED"], ...rows]));
}

async function remove(secrets: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const secret of secrets) {
    if (await Secrets.delete(secret, target)) await context.output.line(secret);
    else {
      context.output.note(`no secret ${secret}`);
      context.exitCode = EXIT.failure;
    }
  }
}
