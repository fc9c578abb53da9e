import type { Process } from "@boxyard/spec/pb/process";
import type { Client } from "@connectrpc/connect";
import { streamCallOptions } from "../connection/agent-call.ts";
import type { RequestScope } from "../connection/request-scope.ts";
import { InvalidArgumentError } from "../errors.ts";
import { type OpenProcess, openProcess } from "./process-events.ts";

/** First wanted byte of the output, counted from the command's start; in the answer, the first byte that comes. An extension of our agent, not part of the public wire. */
const OFFSET_HEADER = "Boxyard-Output-Offset";

export interface ConnectOrder {
  readonly pid: number;
  readonly scope: RequestScope;
  readonly timeoutMs: number;
  readonly fromOffset: number | undefined;
}

/** Connects to a running command or terminal. */
export async function connectProcess(client: Client<typeof Process>, order: ConnectOrder): Promise<OpenProcess> {
  const { pid, scope, timeoutMs, fromOffset } = order;
  const options = streamCallOptions(scope, timeoutMs, undefined);
  const headers = new Headers(options.headers);
  if (fromOffset !== undefined) headers.set(OFFSET_HEADER, checkOffset(fromOffset));
  let offset = 0;
  const onHeader = (answer: Headers) => {
    offset = Number(answer.get(OFFSET_HEADER) ?? 0);
  };
  const request = { process: { selector: { case: "pid" as const, value: pid } } };
  const opened = await openProcess(client.connect(request, { ...options, headers, onHeader }));
  return { ...opened, offset };
}

function checkOffset(offset: number): string {
  if (Number.isSafeInteger(offset) && offset >= 0) return String(offset);
  throw new InvalidArgumentError(`fromOffset must be a number of bytes, not ${offset}`, { code: "invalid_argument", reason: "bad_offset" });
}
