import type { FileSource } from "../lib/file-source.ts";
import { bytes } from "../lib/format.ts";

/** What a file is shown as. */
export type Content =
  | { readonly kind: "text" | "csv"; readonly text: string }
  | { readonly kind: "image"; readonly address: string }
  | { readonly kind: "pdf"; readonly data: ArrayBuffer }
  | { readonly kind: "none"; readonly why: string };

/** A file that one can look at. */
export interface OpenFile {
  readonly path: string;
  readonly name: string;
  readonly size: number;
}

/** Larger files are not shown; they can be downloaded. */
const MOST_TEXT = 2 * 2 ** 20;
const MOST_IMAGE = 20 * 2 ** 20;
const MOST_PDF = 30 * 2 ** 20;
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};
const TABLES = new Set(["csv", "tsv"]);

/** Reads a file as far as it can be shown. */
export async function readContent(source: FileSource, { path, name, size }: OpenFile, signal: AbortSignal): Promise<Content> {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  const type = IMAGES[ending];
  if (type && size <= MOST_IMAGE) {
    const data = await source.read(path, signal);
    // An image element runs no script, also not of an SVG.
    return { kind: "image", address: URL.createObjectURL(new Blob([data], { type })) };
  }
  if (ending === "pdf" && size <= MOST_PDF) return { kind: "pdf", data: await (await source.read(path, signal)).arrayBuffer() };
  if (size > MOST_TEXT) return { kind: "none", why: `Only text of up to ${bytes(MOST_TEXT)} is shown here.` };
  const data = await (await source.read(path, signal)).arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
    if (text.includes("\0")) return { kind: "none", why: "It is no text." };
    return { kind: TABLES.has(ending) ? "csv" : "text", text };
  } catch {
    return { kind: "none", why: "It is no text in UTF-8." };
  }
}
