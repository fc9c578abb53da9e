import { lstatSync } from "node:fs";
import { basename } from "node:path";
import { Volume } from "@boxyard/sdk/volumes";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { localStream, receive } from "./receive.ts";

interface Place {
  /** Undefined: a local path. */
  readonly volume?: string;
  readonly path: string;
}

/** `NAME:PATH`, or a local path. A local file may have a colon in its name: give it as `./a:b`. */
function place(text: string): Place {
  const [, volume, path = ""] = /^([A-Za-z0-9_-]+):(.*)$/s.exec(text) ?? [];
  return volume === undefined ? { path: text } : { volume, path };
}

/** Copies one file between this machine and a volume. */
export async function copy(source: string, target: string, context: CliContext): Promise<void> {
  const [from, to] = [place(source), place(target)];
  if ((from.volume === undefined) === (to.volume === undefined)) {
    throw usageError("one of the two places must be in a volume: VOLUME:PATH (`boxyard volume list` shows the names)");
  }
  if (to.volume === undefined) return download(from as Required<Place>, to.path, context);
  await upload(from.path, to as Required<Place>, context);
}

async function upload(source: string, { volume, path }: Required<Place>, context: CliContext): Promise<void> {
  const stat = source === "-" ? undefined : lstatSync(source, { throwIfNoEntry: false });
  if (source !== "-" && !stat) throw usageError(`there is no ${source}`);
  if (stat?.isDirectory())
    throw usageError(`${source} is a directory: use \`boxyard volume import\`, or copy it in a sandbox that has the volume`);
  const whole = path === "" || path.endsWith("/") ? `${path}${basename(source)}` : path;
  const found = await Volume.get(volume, await connection(context));
  const mode = stat === undefined ? undefined : stat.mode & 0o777;
  await found.files.write(whole, localStream(source), { mode, signal: context.signal });
}

async function download({ volume, path }: Required<Place>, target: string, context: CliContext): Promise<void> {
  const found = await Volume.get(volume, await connection(context));
  const isDirectory = target !== "-" && (target.endsWith("/") || lstatSync(target, { throwIfNoEntry: false })?.isDirectory());
  const whole = isDirectory ? `${target.replace(/\/$/, "")}/${basename(path)}` : target;
  await receive(await found.files.read(path, { format: "stream", signal: context.signal }), whole, `copied ${path}`, context);
}
