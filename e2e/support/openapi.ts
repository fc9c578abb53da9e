import { expect } from "bun:test";
import { z } from "zod";

type JsonSchema = Exclude<Parameters<typeof z.fromJSONSchema>[0], boolean>;

interface Operation {
  readonly operationId?: string;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** Compares answers of the server with the OpenAPI document that the server itself serves. */
export class OpenApiDocument {
  /** Operations that some answer was compared with, as `get /health`. */
  readonly seen = new Set<string>();
  private readonly document: OpenApi;
  private readonly definitions: Record<string, JsonSchema>;

  private constructor(document: OpenApi) {
    this.document = document;
    this.definitions = withDefinitions({ ...document.components.schemas });
  }

  static async fetch(url: string): Promise<OpenApiDocument> {
    const response = await fetch(url);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json; charset=utf-8"]);
    return new OpenApiDocument((await response.json()) as OpenApi);
  }

  get operations(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
  }

  operation(name: string): Operation {
    const [method = "", path = ""] = name.split(" ");
    const operation = this.document.paths[path]?.[method];
    if (!operation) throw new Error(`The document has no operation ${name}`);
    return operation;
  }

  /** The parts of a JSON body that the document does not describe; empty when the body fits. */
  problems(schema: JsonSchema, body: unknown): string[] {
    const result = z.fromJSONSchema({ ...withDefinitions(schema), $defs: this.definitions }).safeParse(body);
    return result.success ? [] : result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
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
    expect(schema, `${name} answered ${response.status} as ${type}`).toBeDefined();
    const bodies = type === "application/connect+json" ? messagesOf(bytes) : type === "application/json" ? [parse(bytes)] : [];
    for (const body of bodies) expect(this.problems(schema as JsonSchema, body), `${name} ${response.status}`).toEqual([]);
    return bodies.length === 1 ? bodies[0] : bodies;
  }
}

/** `z.fromJSONSchema` looks for references below `$defs`. */
function withDefinitions<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll("#/components/schemas/", "#/$defs/"));
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
