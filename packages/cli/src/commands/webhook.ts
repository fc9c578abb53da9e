import { Webhooks } from "@boxyard/sdk/webhooks";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { readSecretValue } from "../output/secret-value.ts";
import { table } from "../output/table.ts";
import { duration } from "../output/units.ts";

interface CreateOptions {
  readonly events?: string[];
  readonly secretStdin?: boolean;
  readonly json?: boolean;
}

const CREATE_HELP = `
Each delivery is signed with a secret. The server makes one and it is printed, this one time; with --secret-stdin it is what standard input has.
Events are actions (build.ready), their targets (build), types of the life of sandboxes (sandbox.lifecycle.killed), or * for all.

Examples:
  $ boxyard webhook create ci https://hooks.example/events --events build,sandbox.lifecycle.killed
  $ boxyard webhook create mine https://hooks.example/mine --secret-stdin < password`;

export function configure(command: Command, context: CliContext): void {
  command.description("Send what happens to your own servers.");
  command
    .command("create <name> <address>")
    .description("Create a webhook, and print its secret.")
    .option("--events <event>", "which events, with commas between (default: all)", (text) => text.split(","))
    .option("--secret-stdin", "read the secret from standard input")
    .option("--json", "print it as JSON")
    .addHelpText("after", CREATE_HELP)
    .action((name: string, url: string, options: CreateOptions) => create(name, url, options, context));
  command
    .command("list")
    .alias("ls")
    .description("List webhooks, the oldest first.")
    .option("--json", "print them as JSON")
    .action((options: { json?: boolean }) => list(options, context));
  for (const enabled of [true, false]) {
    command
      .command(enabled ? "enable <webhook>" : "disable <webhook>")
      .description(enabled ? "Send events to a webhook again, those from now on." : "Send no events to a webhook.")
      .action(async (id: string) => {
        await Webhooks.update(id, { enabled }, await connection(context));
        await context.output.line(id);
      });
  }
  command
    .command("deliveries <webhook>")
    .description("List deliveries that wait or were given up, and why.")
    .option("--json", "print them as JSON")
    .action((id: string, options: { json?: boolean }) => deliveries(id, options, context));
  command
    .command("resend <webhook> [delivery...]")
    .description("Send deliveries again that were given up: those named, or all. Prints how many.")
    .action(async (id: string, named: string[]) => {
      const wanted = named.length > 0 ? { deliveries: named } : {};
      await context.output.line(String(await Webhooks.resend(id, { ...(await connection(context)), ...wanted })));
    });
  command
    .command("delete <webhook...>")
    .alias("rm")
    .description("Delete webhooks with their deliveries.")
    .action((ids: string[]) => remove(ids, context));
}

async function create(name: string, url: string, { events, secretStdin, json }: CreateOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const own = secretStdin ? { signatureSecret: await readSecretValue("the webhook's secret", context) } : {};
  const created = await Webhooks.create(name, url, { ...target, events, ...own });
  if (json) return context.output.json(created);
  if (created.signatureSecret === undefined) return context.output.line(created.id);
  context.output.note(`webhook ${created.id}; its secret cannot be shown again:`);
  await context.output.line(created.signatureSecret);
}

async function list({ json }: { json?: boolean }, context: CliContext): Promise<void> {
  const webhooks = await Webhooks.list(await connectionToRead(context));
  if (json) return context.output.json(webhooks);
  if (webhooks.length === 0) return context.output.note("no webhooks");
  const rows = webhooks.map(({ id, name, url, events, enabled, waiting, dead }) => [
    ...[id, name, enabled ? "on" : "off", String(waiting), String(dead), events.join(","), url],
  ]);
  await context.output.line(table([["ID", "NAME", "STATE", "WAITING", "GIVEN UP", "EVENTS", "ADDRESS"], ...rows]));
}

async function deliveries(id: string, { json }: { json?: boolean }, context: CliContext): Promise<void> {
  const found = await Webhooks.deliveries(id, await connectionToRead(context));
  if (json) return context.output.json(found);
  if (found.length === 0) return context.output.note("no deliveries");
  const ago = (time: Date) => `${duration(Date.now() - time.getTime())} ago`;
  const rows = found.map((one) => [
    ...[one.id, one.type, one.state === "dead" ? "given up" : "waiting", String(one.attempts), ago(one.createdAt), one.lastAnswer ?? ""],
  ]);
  await context.output.line(table([["ID", "EVENT", "STATE", "ATTEMPTS", "SINCE", "LAST ANSWER"], ...rows]));
}

async function remove(ids: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const id of ids) {
    if (await Webhooks.delete(id, target)) await context.output.line(id);
    else {
      context.output.note(`no webhook ${id}`);
      context.exitCode = EXIT.failure;
    }
  }
}
