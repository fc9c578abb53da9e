import { ApiKeys, type KeyScope } from "@boxyard/sdk/keys";
import { Teams } from "@boxyard/sdk/teams";
import { type Command, InvalidArgumentError } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { parseSeconds } from "../options.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";

const KEY_SCOPES: readonly KeyScope[] = ["read", "sandboxes", "templates", "admin"];

interface CreateOptions {
  readonly scope?: KeyScope[];
  /** Seconds. */
  readonly expires?: number;
  readonly team?: string;
  readonly json?: boolean;
}

/** `read,templates`: scopes. */
function parseScopes(text: string): KeyScope[] {
  const words = text.split(",").map((word) => word.trim());
  const unknown = words.find((word) => !(KEY_SCOPES as readonly string[]).includes(word));
  if (unknown !== undefined) throw new InvalidArgumentError(`'${unknown}' is no scope: give ${KEY_SCOPES.join(", ")}`);
  return words as KeyScope[];
}

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list and revoke API keys.");
  command
    .command("create <name>")
    .description("Create an API key and print it. It is shown this one time.")
    .option("--scope <scope>", `what it may do: ${KEY_SCOPES.join(", ")}, several with commas between (all by default)`, parseScopes)
    .option(
      "--expires <seconds>",
      "time from now on after which the server refuses it, such as 12h or 30d (never by default)",
      parseSeconds,
    )
    .option("--team <team>", "a key of another team, by its slug or id: for the operator of the server")
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  $ BOXYARD_API_KEY=$(boxyard key create ci)\n  $ boxyard key create viewer --scope read --expires 30d",
    )
    .action((name: string, options: CreateOptions) => create(name, options, context));
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
  command
    .command("rotate-store")
    .description("Replace the key that seals the secrets of the server's store on this machine. The server must not run meanwhile.")
    .addHelpText("after", "\nExamples:\n  $ boxyard down && boxyard key rotate-store && boxyard up -d")
    .action(async () => {
      const { runRole } = await import("../server-control/roles.ts");
      context.exitCode = await runRole(context.config, "rotate-store", [], "result");
    });
}

async function create(name: string, options: CreateOptions, context: CliContext): Promise<void> {
  const { scope: scopes, expires, team } = options;
  const wanted = {
    ...(await connection(context)),
    scopes,
    ...(expires !== undefined && { expiresAt: new Date(Date.now() + expires * 1000) }),
  };
  const created = await (team === undefined ? ApiKeys.create(name, wanted) : Teams.createKey(team, name, wanted));
  if (options.json) return context.output.json(created);
  context.output.note(`key ${created.id}; it cannot be shown again:`);
  await context.output.line(created.key);
}

async function list(options: { json?: boolean }, context: CliContext): Promise<void> {
  const keys = await ApiKeys.list(await connectionToRead(context));
  if (options.json) return context.output.json(keys);
  const now = Date.now();
  const ago = (time: Date | undefined) => (time ? `${duration(now - time.getTime())} ago` : "never");
  const until = (time: Date | undefined) => (time ? (time.getTime() <= now ? "expired" : `in ${duration(time.getTime() - now)}`) : "never");
  const rows = keys.map(({ id, name, hint, scopes, createdAt, expiresAt, lastUsedAt }) => [
    ...[id, name, hint, scopes.length === KEY_SCOPES.length ? "all" : scopes.join(",")],
    ...[ago(createdAt), until(expiresAt), ago(lastUsedAt)],
  ]);
  await context.output.line(table([["ID", "NAME", "KEY", "SCOPES", "CREATED", "EXPIRES", "LAST USED"], ...rows]));
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
