import type { EnumTable, FieldTable, MessageTable, MethodKind, MethodTable } from "../agent/table.ts";

/* The agent's Connect RPC operations in an OpenAPI document, made from the tables that come from the protos. */

type Json = Record<string, unknown>;
type AnyMethod = MethodTable<MethodKind, unknown, unknown>;
export interface Service {
  readonly name: string;
  readonly methods: Readonly<Record<string, AnyMethod>>;
}

const KINDS: Readonly<Record<MethodKind, string>> = {
  unary: "One JSON message each way.",
  server_stream: "One enveloped message in, a stream of enveloped messages out, closed by an end-of-stream envelope.",
  client_stream: "A stream of enveloped messages in; one enveloped message and an end-of-stream envelope out.",
};

/** An envelope is one byte of flags (0, or 2 at the end of the stream), four bytes of length, big endian, and that much JSON. */
const mediaType = (kind: MethodKind) => (kind === "unary" ? "application/json" : "application/connect+json");

/** Schemas of messages by component name; a message adds those that it holds. */
export class MessageSchemas {
  readonly components: Json = {};

  ref(table: MessageTable): Json {
    const name = `rpc.${table.name}`;
    if (!(name in this.components)) {
      this.components[name] = {};
      this.components[name] = this.schemaOf(table);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  private schemaOf({ fields }: MessageTable): Json {
    const oneofs = [...new Set(fields.map((field) => field.oneof).filter((name) => name !== undefined))];
    const notes = oneofs.map((name) => `At most one of ${membersOf(fields, name)} is set.`);
    return {
      type: "object",
      ...(notes.length > 0 && { description: notes.join(" ") }),
      properties: Object.fromEntries(fields.map((field) => [field.name, this.field(field)])),
    };
  }

  private field({ type, cardinality }: FieldTable): Json {
    const value = typeof type === "string" ? scalar(type) : "names" in type ? enumeration(type) : this.ref(type);
    if (cardinality === "repeated") return { type: "array", items: value };
    return cardinality === "map" ? { type: "object", additionalProperties: value } : value;
  }
}

function membersOf(fields: readonly FieldTable[], oneof: string): string {
  return fields
    .filter((field) => field.oneof === oneof)
    .map((field) => `\`${field.name}\``)
    .join(", ");
}

/** Proto3's JSON mapping: 64-bit integers are text, bytes are standard base64. */
function scalar(kind: Exclude<FieldTable["type"], EnumTable | MessageTable>): Json {
  switch (kind) {
    case "string":
      return { type: "string" };
    case "bool":
      return { type: "boolean" };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "int64":
      return { type: "string", format: "int64", pattern: "^-?[0-9]+$" };
    case "timestamp":
      return { type: "string", format: "date-time" };
    default:
      return { type: "integer", format: kind };
  }
}

function enumeration({ names }: EnumTable): Json {
  return { type: "string", enum: Object.values(names) };
}

const TAGS: Readonly<Record<string, string>> = { "process.Process": "Process", "filesystem.Filesystem": "Filesystem" };

/** Paths of a service: `/process.Process/Start` and the others. */
export function servicePaths(service: Service, schemas: MessageSchemas, errors: Json, parameters: unknown): Json {
  return Object.fromEntries(
    Object.entries(service.methods).map(([name, method]) => {
      const type = mediaType(method.kind);
      const operation = {
        tags: [TAGS[service.name] ?? service.name],
        operationId: `${service.name}.${name}`,
        summary: `${service.name}/${name}`,
        description: KINDS[method.kind],
        security: [{ AccessToken: [] }],
        parameters,
        requestBody: { required: true, content: { [type]: { schema: schemas.ref(method.input) } } },
        responses: { 200: { description: "The answer", content: { [type]: { schema: schemas.ref(method.output) } } }, ...errors },
      };
      return [`/${service.name}/${name}`, { post: operation }];
    }),
  );
}
