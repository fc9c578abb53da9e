import { type AgentAddress, agentHeaders, WITHOUT_COOKIES } from "../connection/agent-connection.ts";
import { describe } from "../connection/api-client.ts";
import { errorFromResponse } from "../connection/http-errors.ts";
import { lostConnection, type Probe } from "../connection/lost-connection.ts";
import type { RequestScope } from "../connection/request-scope.ts";
import { withQuery } from "../connection/with-query.ts";
import { BoxyardError } from "../errors.ts";
import { type FileData, type WriteInfo, writeInfoFrom } from "./file-types.ts";

export interface TransferRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: FileData | FormData;
  /** What is tried, as the start of an error's sentence. */
  readonly what: string;
}

/** One HTTP request to the agent's file routes. The caller disposes of the scope when the body has been read. */
export async function transfer(address: AgentAddress, request: TransferRequest, scope: RequestScope, probe: Probe): Promise<Response> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(request.query)) if (value !== undefined) query.set(name, value);
  const suffix = withQuery(query);
  const streaming = request.body instanceof ReadableStream;
  try {
    scope.throwIfEnded();
    const response = await fetch(`${address.baseUrl}${request.path}${suffix}`, {
      method: request.method,
      headers: { ...agentHeaders(address), ...request.headers },
      signal: scope.signal,
      ...WITHOUT_COOKIES,
      ...(request.body === undefined ? {} : { body: request.body }),
      // Required by the standard for a body that is a stream.
      ...(streaming ? { duplex: "half" } : {}),
    });
    if (!response.ok) throw await errorFromResponse(response, request.what, "file_not_found");
    return response;
  } catch (error) {
    throw await transferError(error, request.what, scope, probe);
  }
}

/** A failure of a transfer as one of our errors; a lost connection is looked into. */
export async function transferError(error: unknown, what: string, scope: RequestScope, probe: Probe): Promise<BoxyardError> {
  if (error instanceof BoxyardError) return error;
  return scope.failure(error) ?? lostConnection(error, what, describe(error), scope, probe);
}

/** The entries that an upload answers with. */
export async function readWriteInfos(response: Response, what: string): Promise<WriteInfo[]> {
  const value: unknown = await response.json().catch(() => undefined);
  const infos = (Array.isArray(value) ? value : [value]).map(writeInfoFrom);
  if (infos.some((info) => info === undefined)) {
    throw new BoxyardError(`${what}: the agent's answer is not understood`, { code: "internal", reason: "protocol_error" });
  }
  return infos as WriteInfo[];
}
