import { AppError } from "@boxyard/core";
import { type AgentAccess, headersOf, urlOf } from "./access.ts";

export type FileContent = Blob | string;

/** Reads a file in a sandbox, as root. Cancelling the stream ends the transfer. Throws `internal`, reason `file_not_given`. */
export async function getFile(agent: AgentAccess, path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const query = new URLSearchParams({ path, username: "root" });
  const init = { headers: headersOf(agent, "root"), redirect: "manual", keepalive: false, timeout: false, signal } as RequestInit;
  const response = await fetch(`${urlOf(agent)}/files?${query}`, init);
  if (response.status === 200 && response.body) return response.body;
  void response.body?.cancel().catch(() => {});
  throw new AppError("internal", `The sandbox did not give a file (status ${response.status})`, { reason: "file_not_given" });
}

/** Writes a file in a sandbox, as root. Throws `internal`, reason `file_not_taken`. */
export async function putFile(agent: AgentAccess, path: string, content: FileContent, signal: AbortSignal): Promise<void> {
  const query = new URLSearchParams({ path, username: "root" });
  const response = await fetch(`${urlOf(agent)}/files?${query}`, {
    method: "POST",
    headers: { ...headersOf(agent, "root"), "Content-Type": "application/octet-stream" },
    body: content,
    redirect: "manual",
    keepalive: false,
    timeout: false,
    signal,
  } as RequestInit);
  void response.body?.cancel().catch(() => {});
  if (response.status !== 200) {
    throw new AppError("internal", `The sandbox did not take a file (status ${response.status})`, { reason: "file_not_taken" });
  }
}
