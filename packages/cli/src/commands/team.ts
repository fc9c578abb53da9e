import { AppError } from "@boxyard/core";
import { type TeamChangeOptions, Teams } from "@boxyard/sdk/teams";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";
import { RULES_HELP, rulesOf } from "../retention-rules.ts";

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list, limit and delete teams: for the operator of the server, whose key is of the team default.");
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
    .command("limit <team> [limit...]")
    .description(
      "Set limits of a team, NAME=NUMBER or NAME=default, and print all of them. Names: sandboxes, cpus, memoryMB, diskMB, templates, builds, createsPerMinute, timeoutHours.",
    )
    .option("--json", "print them as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  $ boxyard team limit default sandboxes=100 createsPerMinute=600\n  $ boxyard team limit default sandboxes=default",
    )
    .action((team: string, limits: string[], options: { json?: boolean }) => limit(team, limits, options, context));
  command
    .command("retention <team> [rule...]")
    .description(
      `Replace the rules by which what a team keeps is deleted, KIND.NAME=NUMBER, and print them; without rules only print. ${RULES_HELP}`,
    )
    .option("--off", "take all rules away")
    .addHelpText(
      "after",
      "\nExamples:\n  $ boxyard team retention default paused.maxAgeHours=720 snapshots.maxCount=100\n  $ boxyard team retention default --off",
    )
    .action((team: string, rules: string[], options: { off?: boolean }) => retention(team, rules, options, context));
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

async function limit(team: string, words: readonly string[], { json }: { json?: boolean }, context: CliContext): Promise<void> {
  const limits: Record<string, number | "default"> = {};
  for (const word of words) {
    const [, name = "", value = ""] = /^(\w+)=(\d+|default)$/.exec(word) ?? [];
    if (name === "")
      throw new AppError("invalid_argument", `'${word}' is no limit: give NAME=NUMBER, or NAME=default`, { reason: "bad_limit" });
    limits[name] = value === "default" ? value : Number(value);
  }
  const changed = await Teams.change(team, { ...(await connection(context)), limits: limits as TeamChangeOptions["limits"] });
  if (json) return context.output.json(changed.limits);
  await context.output.line(table(Object.entries(changed.limits).map(([name, value]) => [name, String(value)])));
}

async function retention(team: string, words: readonly string[], { off }: { off?: boolean }, context: CliContext): Promise<void> {
  const isChange = off === true || words.length > 0;
  const target = await (isChange ? connection : connectionToRead)(context);
  const found = isChange
    ? await Teams.change(team, { ...target, retention: rulesOf(words) })
    : (await Teams.list(target)).find(({ id, slug }) => id === team || slug === team);
  if (!found) throw new AppError("not_found", `no team ${team}`, { reason: "team_not_found" });
  await context.output.json(found.retention);
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
