import { existsSync } from "node:fs";
import { Volume } from "@boxyard/sdk/volumes";
import { connection } from "../connection.ts";
import type { CliContext } from "../context.ts";
import { usageError } from "../errors.ts";
import { whileShown } from "../output/progress.ts";
import type { SizeOptions } from "./actions.ts";
import { localStream, receive } from "./receive.ts";

export async function exportTo(volume: string, file: string, context: CliContext): Promise<void> {
  if (file === "-" && process.stdout.isTTY) {
    throw usageError("an archive cannot be written to a terminal; name a file, or redirect the output");
  }
  const found = await Volume.get(volume, await connection(context));
  await receive(await found.export({ signal: context.signal }), file, `exported ${found.name}`, context);
}

export async function importFrom(file: string, name: string, { size }: SizeOptions, context: CliContext): Promise<void> {
  if (file !== "-" && !existsSync(file)) throw usageError(`there is no ${file}`);
  const options = { ...(await connection(context)), sizeMB: size, signal: context.signal };
  const { volumeId } = await whileShown(`importing ${name}`, Volume.import(name, localStream(file), options));
  await context.output.line(volumeId);
}
