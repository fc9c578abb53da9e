import type { ServerConfig } from "../config.ts";
import { publicUrl } from "./public-url.ts";

/** The address in the texts, which `tools/generate/llms.ts` writes from the documents. */
const WRITTEN_URL = "http://127.0.0.1:3000";

/** Texts for language models. They hold no secret, and need no key. */
export const AGENT_DOCUMENTS = {
  "/llms.txt": async () => (await import("../generated/llms.txt", { with: { type: "text" } })).default,
  "/llms-full.txt": async () => (await import("../generated/llms-full.txt", { with: { type: "text" } })).default,
} as const;

/** Serves one of the texts, with the address under which this client reaches the server. */
export async function agentDocument(
  path: keyof typeof AGENT_DOCUMENTS,
  request: Request,
  config: Pick<ServerConfig, "publicUrl">,
): Promise<Response> {
  const own = publicUrl(config, (name) => request.headers.get(name) ?? undefined);
  const text = (await AGENT_DOCUMENTS[path]()).replaceAll(WRITTEN_URL, own);
  return new Response(text, { headers: { "Content-Type": "text/plain; charset=utf-8" } });
}
