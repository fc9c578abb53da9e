import { posix } from "node:path";
import type { Sandbox } from "@boxyard/sdk";
import type { ReadResourceResult, Resource } from "@modelcontextprotocol/sdk/types.js";
import { ToolError } from "./errors.ts";
import type { Session } from "./session/session.ts";
import { listing } from "./tools/files.ts";

const SCHEME = "boxyard://";
const MAX_BYTES = 1 << 20;
/** Files of one sandbox in the list of resources. */
const MAX_LISTED = 100;

export const FILE_TEMPLATE = {
  name: "file",
  uriTemplate: `${SCHEME}{sandbox}/{+path}`,
  description: "A file or directory of a sandbox, by its absolute path.",
};

const uriOf = (sandboxId: string, path: string): string => `${SCHEME}${sandboxId}${path.split("/").map(encodeURIComponent).join("/")}`;

/** The files of the home directories of the session's running sandboxes. */
export async function listResources(session: Session): Promise<Resource[]> {
  const running = session.all().filter(({ paused }) => !paused);
  const lists = await Promise.all(running.map(({ sandbox }) => homeOf(sandbox).catch(() => [])));
  return lists.flat();
}

async function homeOf({ sandboxId, files }: Sandbox): Promise<Resource[]> {
  const entries = await files.list(".");
  return entries.slice(0, MAX_LISTED).map(({ path, name, type, size }) => ({
    uri: uriOf(sandboxId, path),
    name: type === "directory" ? `${name}/` : name,
    ...(type === "file" && { size }),
  }));
}

/** A file as text, or as bytes if it is no text; a directory as a list. */
export async function readResource(uri: string, session: Session): Promise<ReadResourceResult> {
  const [, id, path] = /^boxyard:\/\/([^/]+)(\/.*)$/.exec(uri) ?? [];
  if (id === undefined || path === undefined) throw new ToolError(`${uri} names no file.`, `The form is ${FILE_TEMPLATE.uriTemplate}.`);
  const member = await session.member(id);
  try {
    return { contents: [{ uri, ...(await contentOf(member.sandbox, posix.normalize(decodeURIComponent(path)))) }] };
  } catch (error) {
    await session.lookAgain(member, error);
    throw error;
  }
}

async function contentOf({ files }: Sandbox, path: string): Promise<{ text: string; mimeType?: string } | { blob: string }> {
  const { type, size } = await files.getInfo(path);
  if (type === "directory") return { text: listing(await files.list(path)), mimeType: "text/plain" };
  if (size > MAX_BYTES)
    throw new ToolError(`${path} has ${size} bytes; a resource has at most ${MAX_BYTES}.`, "Use the tool `read`, which reads parts.");
  const bytes = await files.read(path, { format: "bytes" });
  try {
    return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { blob: Buffer.from(bytes).toString("base64") };
  }
}
