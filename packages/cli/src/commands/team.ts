import { Teams } from "@boxyard/sdk/teams";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list and delete teams: for the operator of the server, whose key is of the team default.");
  command
    .command("create <slug>")
    .description("Create a team and print its first API key. It is shown this one time.")
    .option("--name <name>", "the team's name (its slug by default)")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExamples:\n  $ BOXYARD_API_KEY=$(boxyard team create research)")
    .action((slug: string, options: { name?: string; json?: boolean }) => create(slug, options, context));
  command
    .command("list")
    .alias("ls")
    .description("List teams, the oldest first.")
    .option("--json", "print them as JSON")
    .action((options: { json?: boolean }) => list(options, context));
  command
    .command("delete <team...>")
    .alias("rm")
    .description("Delete teams, by slugs or ids, that have no sandboxes, templates and volumes; their keys are refused from then on.")
    .action((teams: string[]) => remove(teams, context));
}

async function create(slug: string, { name, json }: { name?: string; json?: boolean }, context: CliContext): Promise<void> {
  const created = await Teams.create(slug, { ...(await connection(context)), name });
  if (json) return context.output.json(created);
  context.output.note(`team ${created.slug} (${created.id}); its first key cannot be shown again:`);
  await context.output.line(created.key);
}

async function list({ json }: { json?: boolean }, context: CliContext): Promise<void> {
  const teams = await Teams.list(await connectionToRead(context));
  if (json) return context.output.json(teams);
  const now = Date.now();
  const rows = teams.map(({ id, slug, name, createdAt }) => [slug, name, id, `${duration(now - createdAt.getTime())} ago`]);
  await context.output.line(table([["SLUG", "NAME", "ID", "CREATED"], ...rows]));
}

async function remove(teams: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const team of teams) {
    if (await Teams.delete(team, target)) await context.output.line(team);
    else {
      context.output.note(`no team ${team}`);
      context.exitCode = EXIT.failure;
    }
  }
}
