import { Sandbox, type SnapshotInfo } from "@boxyard/sdk";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { table } from "../output/table.ts";
import { attachSandbox } from "../sandbox-ref.ts";

interface ListOptions {
  readonly sandbox?: string;
  readonly json?: boolean;
}

export function configure(command: Command, context: CliContext): void {
  command.description(
    "Keep states of sandboxes, and make sandboxes from them (`boxyard sandbox create SNAPSHOT`). This server answers that it cannot yet.",
  );

  command
    .command("create <sandbox>")
    .description("Keep the state of a running sandbox, which goes on; prints the snapshot's id.")
    .option("--name <name>", "a name to find it by")
    .addHelpText("after", "\nExamples:\n  $ boxyard snapshot create SANDBOX --name ready")
    .action((id: string, options: { name?: string }) => create(id, options, context));

  command
    .command("list")
    .alias("ls")
    .description("List snapshots.")
    .option("--sandbox <sandbox>", "only those of this sandbox")
    .option("--json", "print them as JSON")
    .action((options: ListOptions) => list(options, context));

  command
    .command("delete <snapshot...>")
    .description("Delete snapshots; sandboxes made from them go on.")
    .action((ids: string[]) => remove(ids, context));
}

async function create(id: string, options: { name?: string }, context: CliContext): Promise<void> {
  const sandbox = await attachSandbox(id, context);
  await context.output.line((await sandbox.createSnapshot(options)).snapshotId);
}

async function list({ sandbox: sandboxId, json }: ListOptions, context: CliContext): Promise<void> {
  const found: SnapshotInfo[] = [];
  for await (const info of Sandbox.listSnapshots({ ...(await connectionToRead(context)), sandboxId })) found.push(info);
  if (json) return context.output.json(found);
  if (found.length === 0) return context.output.note("no snapshots");
  const rows = found.map(({ snapshotId, names }) => [snapshotId, names.join(" ") || "-"]);
  await context.output.line(table([["SNAPSHOT", "NAMES"], ...rows]));
}

async function remove(ids: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const id of ids) {
    if (await Sandbox.deleteSnapshot(id, target)) await context.output.line(id);
    else {
      context.output.note(`no snapshot ${id}`);
      context.exitCode = EXIT.failure;
    }
  }
}
