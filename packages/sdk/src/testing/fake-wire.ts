import type { ServerResponse } from "node:http";

export function sendJson(response: ServerResponse, status: number, body?: unknown): ServerResponse {
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, { "Content-Type": "application/json", "X-Request-Id": "fake-request" });
  return response.end(text);
}

export function sendConnectError(response: ServerResponse, status: number, code: string, message: string): ServerResponse {
  return sendJson(response, status, { code, message });
}

/** One message of a Connect stream: flags, length, JSON. */
export function envelope(message: unknown, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

export const endStream = (error?: { code: string; message: string }): Buffer => envelope(error ? { error } : {}, 2);
