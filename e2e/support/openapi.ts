import { expect } from "bun:test";
import { DocumentCheck } from "@boxyard/spec/testing";

/** Compares answers of the server with the OpenAPI document that the server itself serves. */
export class OpenApiDocument extends DocumentCheck {
  /** Operations that some answer was compared with, as `get /health`. */
  readonly seen = new Set<string>();

  static async fetch(url: string): Promise<OpenApiDocument> {
    const response = await fetch(url);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    return new OpenApiDocument((await response.json()) as object);
  }

  /** Checks status, media type and body of an answer; returns the body. Envelopes of a stream are checked one by one. */
  async check(name: string, response: Response): Promise<unknown> {
    this.seen.add(name);
    const { responses } = this.operation(name);
    const described = responses[response.status] ?? responses.default;
    expect(described, `${name} answered ${response.status}, which the document does not have`).toBeDefined();
    const bytes = new Uint8Array(await response.arrayBuffer());
    const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
    if (!described?.content) {
      expect(bytes.length, `${name} answered ${response.status} with a body`).toBe(0);
      return undefined;
    }
    const schema = (described.content[type] ?? described.content["application/octet-stream"])?.schema;
    if (!schema) throw new Error(`${name} answered ${response.status} as ${type}, which the document does not have`);
    const bodies = type === "application/connect+json" ? messagesOf(bytes) : type === "application/json" ? [parse(bytes)] : [];
    for (const body of bodies) expect(this.problems(schema, body), `${name} ${response.status}`).toEqual([]);
    return bodies.length === 1 ? bodies[0] : bodies;
  }
}

const parse = (bytes: Uint8Array) => JSON.parse(new TextDecoder().decode(bytes));

/** Messages of a Connect stream, without the end-of-stream envelope. */
function messagesOf(bytes: Uint8Array): unknown[] {
  const messages: unknown[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = new DataView(bytes.buffer, bytes.byteOffset + at).getUint32(1);
    const body = bytes.subarray(at + 5, at + 5 + length);
    if (bytes[at] === 0) messages.push(parse(body));
    at += 5 + length;
  }
  return messages;
}
