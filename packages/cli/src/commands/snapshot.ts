import { isSandboxId } from "@boxyard/core";
import type { SnapshotInfo } from "@boxyard/sdk";
import { Sandboxes } from "@boxyard/sdk/sandboxes";
import type { Command } from "commander";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { whileShown } from "../output/progress.ts";
import { table } from "../output/table.ts";
import { bytes, minuteOf } from "../output/units.ts";
import { resolveSandbox } from "../sandbox-ref.ts";
import { namesOf, STATE_REQUEST_MS } from "./sandbox-actions.ts";

interface CreateOptions {
  readonly name?: string;
  readonly memory: boolean;
}

interface ListOptions {
  readonly sandbox?: string;
  readonly name?: string;
  readonly json?: boolean;
}

export function configure(command: Command, context: CliContext): void {
  command.description("Create, list and delete snapshots: kept states, from which `boxyard sandbox create SNAPSHOT` makes sandboxes.");

  command
    .command("create <sandbox>")
    .description("Keep the state of a running sandbox, which keeps running, and print the snapshot's id.")
    .option("--name <name>", "a name to find it by, NAME or NAME:TAG; the name means the newest snapshot that has it")
    .option("--no-memory", "keep the disk only: sandboxes made from it boot")
    .addHelpText("after", "\nExamples:\n  $ boxyard snapshot create SANDBOX --name ready")
    .action((id: string, options: CreateOptions) => create(id, options, context));

  command
    .command("list")
    .alias("ls")
    .description("List snapshots.")
    .option("--sandbox <sandbox>", "only those of this sandbox")
    .option("--name <name>", "only those of this name, NAME or NAME:TAG")
    .option("--json", "print them as JSON")
    .action((options: ListOptions) => list(options, context));

  command
    .command("delete <snapshot...>")
    .description("Delete snapshots that no living sandbox was made from; NAME without a tag deletes all snapshots of that name.")
    .action((ids: string[]) => remove(ids, context));
}

async function create(text: string, { name, memory }: CreateOptions, context: CliContext): Promise<void> {
  const target = await connection(context);
  const id = await resolveSandbox(text, target);
  const own = { ...(name !== undefined && { name }), ...(memory ? {} : { keepMemory: false }) };
  const making = Sandboxes.createSnapshot(id, { ...target, ...own, requestTimeoutMs: STATE_REQUEST_MS });
  const { snapshotId, volumes } = await whileShown(`taking a snapshot of ${id}`, making);
  await context.output.line(snapshotId);
  if (volumes) context.output.note(`not in the snapshot: ${namesOf(volumes)}`);
}

async function list({ sandbox, name, json }: ListOptions, context: CliContext): Promise<void> {
  const found: SnapshotInfo[] = [];
  const target = await connectionToRead(context);
  // The source may have ended: then only its whole id names it.
  const sandboxId = sandbox === undefined || isSandboxId(sandbox) ? sandbox : await resolveSandbox(sandbox, target);
  for await (const info of Sandboxes.listSnapshots({ ...target, sandboxId, name })) found.push(info);
  if (json) return context.output.json(found);
  if (found.length === 0) return context.output.note("no snapshots");
  const rows = found.map(({ snapshotId, names, sandboxId, createdAt, sizeBytes, deleteAt }) => [
    ...[snapshotId, names.join(" ") || "-", sandboxId ?? "-", minuteOf(createdAt)],
    ...[sizeBytes === undefined ? "-" : bytes(sizeBytes), minuteOf(deleteAt)],
  ]);
  await context.output.line(table([["SNAPSHOT", "NAMES", "OF SANDBOX", "CREATED AT", "SIZE", "DELETED AT"], ...rows]));
}

async function remove(ids: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const id of ids) {
    if (await Sandboxes.deleteSnapshot(id, target)) await context.output.line(id);
    else {
      context.output.note(`no snapshot ${id}`);
      context.exitCode = EXIT.failure;
    }
  }
}
