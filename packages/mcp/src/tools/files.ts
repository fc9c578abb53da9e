import type { EntryInfo, Sandbox } from "@boxyard/sdk";
import { z } from "zod";
import { ToolError } from "../errors.ts";
import { readLines } from "./read-lines.ts";
import { type Content, sandboxTool } from "./tool.ts";

const path = z.string().min(1);
const DEFAULT_LINES = 500;
const MAX_ENTRIES = 500;
const MAX_IMAGE_BYTES = 1 << 20;
/** A file that `patch` changes is in memory as a whole. */
const MAX_PATCH_BYTES = 8 << 20;

const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
};

const read = sandboxTool({
  name: "read",
  description: "Read lines of a text file, an image, or list a directory.",
  input: { path, from_line: z.int().min(1).default(1), lines: z.int().min(1).default(DEFAULT_LINES) },
  readOnly: true,
  async run({ path, from_line, lines }, { sandbox }, { signal }) {
    const info = await sandbox.files.getInfo(path);
    if (info.type === "directory") return listing(await sandbox.files.list(path));
    const image = IMAGES[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""];
    if (image && info.size <= MAX_IMAGE_BYTES) return imageOf(sandbox, path, image);
    return readLines(await sandbox.files.read(path, { format: "stream", signal }), { path, fromLine: from_line, lines });
  },
});

async function imageOf(sandbox: Sandbox, path: string, mimeType: string): Promise<Content> {
  return { type: "image", data: Buffer.from(await sandbox.files.read(path, { format: "bytes" })).toString("base64"), mimeType };
}

/** A directory's entries as text, directories with a slash at the end. */
export function listing(entries: readonly EntryInfo[]): string {
  const lines = entries.slice(0, MAX_ENTRIES).map(({ name, type, size }) => (type === "directory" ? `${name}/` : `${name}\t${size}`));
  const more = entries.length > MAX_ENTRIES ? [`[${entries.length - MAX_ENTRIES} more: use \`search\` with name, or run \`ls\`]`] : [];
  return lines.length === 0 ? "(empty directory)" : [...lines, ...more].join("\n");
}

const write = sandboxTool({
  name: "write",
  description: "Write a file and its missing directories.",
  input: { path, text: z.string() },
  async run({ path, text }, { sandbox }) {
    const info = await sandbox.files.write(path, text);
    return `Wrote ${info.path}.`;
  },
});

const patch = sandboxTool({
  name: "patch",
  description: "Replace exact texts in a file, all edits or none. old must occur once, unless all.",
  input: {
    path,
    edits: z.array(z.strictObject({ old: z.string().min(1), new: z.string(), all: z.boolean().optional() })).min(1),
  },
  async run({ path, edits }, { sandbox }) {
    const { size } = await sandbox.files.getInfo(path);
    if (size > MAX_PATCH_BYTES)
      throw new ToolError(`${path} has ${size} bytes, more than \`patch\` takes.`, "Change it with `run`, e.g. sed.");
    const bytes = await sandbox.files.read(path, { format: "bytes" });
    await sandbox.files.write(path, edits.reduce(replace, textOf(bytes, path)));
    return `Changed ${path}: ${edits.length} edit${edits.length === 1 ? "" : "s"}.`;
  },
});

/** The text of a file; writing it back must not change bytes that are no text. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ToolError(`${path} is not UTF-8 text.`, "Change it with `run`.");
  }
}

function replace(
  text: string,
  edit: { readonly old: string; readonly new: string; readonly all?: boolean | undefined },
  index: number,
): string {
  const parts = text.split(edit.old);
  const which = `Edit ${index + 1}: nothing was changed, because its old text`;
  if (parts.length === 1) throw new ToolError(`${which} is not in the file.`, "`read` the file; white space must match.");
  if (parts.length > 2 && !edit.all) {
    throw new ToolError(`${which} occurs ${parts.length - 1} times.`, "Give more lines around it, or set `all`.");
  }
  return parts.join(edit.new);
}

export const fileTools = [read, write, patch];
