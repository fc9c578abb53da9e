import type { VolumeEntry, VolumeInfo } from "@boxyard/sdk";
import { Volume } from "@boxyard/sdk/volumes";
import { connection, connectionToRead } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { EXIT } from "../errors.ts";
import { table } from "../output/table.ts";
import { bytes } from "../output/units.ts";

export interface SizeOptions {
  /** MiB. */
  readonly size?: number;
}

export interface JsonOptions {
  readonly json?: boolean;
}

export interface FilesOptions extends JsonOptions {
  readonly depth: number;
}

const MIB = 2 ** 20;

export async function create(name: string, { size }: SizeOptions, context: CliContext): Promise<void> {
  await context.output.line((await Volume.create(name, { ...(await connection(context)), sizeMB: size })).volumeId);
}

export async function clone(volume: string, name: string, { size }: SizeOptions, context: CliContext): Promise<void> {
  const source = await Volume.get(volume, await connection(context));
  await context.output.line((await source.clone(name, { sizeMB: size })).volumeId);
}

export async function resize(volume: string, sizeMB: number, context: CliContext): Promise<void> {
  const found = await Volume.get(volume, await connection(context));
  await context.output.line(sizes(await found.resize(sizeMB)).join(" of "));
}

export async function list({ json }: JsonOptions, context: CliContext): Promise<void> {
  const volumes = await Volume.list(await connectionToRead(context));
  if (json) return context.output.json(volumes);
  if (volumes.length === 0) return context.output.note("no volumes");
  const rows = volumes.map((volume) => [volume.name, volume.volumeId, ...sizes(volume)]);
  await context.output.line(table([["NAME", "ID", "USED", "SIZE"], ...rows]));
}

export async function info(volume: string, { json }: JsonOptions, context: CliContext): Promise<void> {
  const found = await (await Volume.get(volume, await connectionToRead(context))).info();
  if (json) return context.output.json(found);
  const [used = "", size = ""] = sizes(found);
  const rows = [
    ["name", found.name],
    ["id", found.volumeId],
    ["used", used],
    ["size", size],
    ["created", found.createdAt?.toISOString() ?? ""],
  ];
  await context.output.line(table(rows));
}

/** Used and whole. */
const sizes = ({ usedBytes, sizeMB }: VolumeInfo): string[] => [
  usedBytes === undefined ? "damaged" : bytes(usedBytes),
  bytes(sizeMB * MIB),
];

export async function remove(volumes: readonly string[], context: CliContext): Promise<void> {
  const target = await connection(context);
  for (const volume of volumes) {
    if (await Volume.remove(volume, target)) await context.output.line(volume);
    else {
      context.output.note(`no volume ${volume}`);
      context.exitCode = EXIT.failure;
    }
  }
}

export async function files(volume: string, path = "/", { depth, json }: FilesOptions, context: CliContext): Promise<void> {
  const found = await Volume.get(volume, await connectionToRead(context));
  const entries = await found.files.list(path, { depth });
  if (json) return context.output.json(entries);
  if (entries.length === 0) return context.output.note("no files");
  await context.output.line(table(entries.map(row)));
}

const row = ({ mode, uid, gid, size, type, path, target }: VolumeEntry): string[] => [
  mode.toString(8).padStart(4, "0"),
  `${uid}:${gid}`,
  type === "file" ? bytes(size) : type,
  target === undefined ? path : `${path} -> ${target}`,
];
