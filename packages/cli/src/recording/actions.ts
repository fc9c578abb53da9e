import { existsSync } from "node:fs";
import type { RecordedExchange, RecordingInfo } from "@boxyard/sdk";
import { Recordings } from "@boxyard/sdk/recordings";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT, usageError } from "../errors.ts";
import { whileShown } from "../output/progress.ts";
import { table } from "../output/table.ts";
import { bytes } from "../output/units.ts";
import { localStream, receive } from "../volume/receive.ts";

export interface JsonOptions {
  readonly json?: boolean;
}

export interface ShowOptions extends JsonOptions {
  readonly limit: number;
}

export async function list({ json }: JsonOptions, context: CliContext): Promise<void> {
  const recordings = await Recordings.list(await connectionToRead(context));
  if (json) return context.output.json(recordings);
  if (recordings.length === 0) return context.output.note("no recordings");
  const rows = recordings.map(({ name, sizeBytes, changedAt, ...one }) => [name, bytes(sizeBytes), timeOf(changedAt), stateOf(one)]);
  await context.output.line(table([["NAME", "SIZE", "CHANGED", "STATE"], ...rows]));
}

export async function show(name: string, { limit, json }: ShowOptions, context: CliContext): Promise<void> {
  const found = await Recordings.get(name, { ...(await connectionToRead(context)), limit });
  if (json) return context.output.json(found);
  const rows = [
    ["name", found.name],
    ["size", bytes(found.sizeBytes)],
    ["exchanges", String(found.count)],
    ["created", found.createdAt.toISOString()],
    ["changed", found.changedAt.toISOString()],
    ["state", stateOf(found)],
  ];
  await context.output.line(table(rows));
  for (const exchange of found.exchanges) await context.output.line(lineOf(exchange));
}

export async function exportTo(name: string, file: string, context: CliContext): Promise<void> {
  const har = await Recordings.export(name, { ...(await connection(context)), signal: context.signal });
  await receive(har, file, `exported ${name}`, context);
}

export async function importFrom(file: string, name: string, context: CliContext): Promise<void> {
  if (file !== "-" && !existsSync(file)) throw usageError(`there is no ${file}`);
  const options = await connection(context);
  const { count, skipped } = await whileShown(`importing ${name}`, Recordings.import(name, localStream(file), options));
  await context.output.line(`${count} exchanges${skipped > 0 ? `, ${skipped} entries left out` : ""}`);
}

export async function remove(names: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const name of names) {
    if (await Recordings.delete(name, target)) await context.output.line(name);
    else {
      context.output.note(`no recording ${name}`);
      context.exitCode = EXIT.failure;
    }
  }
}

const timeOf = (time: Date) => time.toISOString().slice(0, 19).replace("T", " ");

function stateOf({ incomplete, deleteAt }: Pick<RecordingInfo, "incomplete" | "deleteAt">): string {
  const first = incomplete === undefined ? "whole" : `incomplete (${incomplete})`;
  return deleteAt ? `${first}, deleted ${timeOf(deleteAt)}` : first;
}

/** `12:00:01 GET  200  1.2 KiB  https://a.example/` */
const lineOf = ({ timestamp, method, url, status, sizeBytes }: RecordedExchange): string =>
  `${timeOf(timestamp)} ${method.padEnd(6)} ${status} ${bytes(sizeBytes).padStart(9)}  ${url}`;
