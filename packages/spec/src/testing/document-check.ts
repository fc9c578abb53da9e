import { z } from "zod";

export type JsonSchema = Exclude<Parameters<typeof z.fromJSONSchema>[0], boolean>;

export interface Operation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>> }>>;
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

/** Compares answers with an OpenAPI document. For tests. */
export class DocumentCheck {
  private readonly document: OpenApi;
  private readonly definitions: Record<string, JsonSchema>;

  /** `document` is what `platformDocument()` or `agentDocument()` give, or their JSON as a server serves it. */
  constructor(document: object) {
    this.document = JSON.parse(JSON.stringify(document)) as OpenApi;
    this.definitions = withDefinitions({ ...this.document.components.schemas });
  }

  /** Names of all operations, such as `get /health`. */
  get operations(): string[] {
    return Object.entries(this.document.paths).flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`));
  }

  operation(name: string): Operation {
    const [method = "", path = ""] = name.split(" ");
    const operation = this.document.paths[path]?.[method];
    if (!operation) throw new Error(`The document has no operation ${name}`);
    return operation;
  }

  /** Name of the operation that a request is for; undefined when the document has none. A literal path wins over a template, an earlier literal over a later one. */
  find(method: string, path: string): string | undefined {
    const segments = path.split("?")[0]?.split("/") ?? [];
    const fits = (template: string) => {
      const parts = template.split("/");
      return (
        parts.length === segments.length && parts.every((part, i) => (part.startsWith("{") ? segments[i] !== "" : part === segments[i]))
      );
    };
    const found = Object.keys(this.document.paths)
      .filter((template) => fits(template) && this.document.paths[template]?.[method.toLowerCase()])
      .sort((a, b) => a.split("{").length - b.split("{").length || b.indexOf("{") - a.indexOf("{"))[0];
    return found === undefined ? undefined : `${method.toLowerCase()} ${found}`;
  }

  /** The parts of a JSON body that the schema does not describe; empty when the body fits. */
  problems(schema: JsonSchema, body: unknown): string[] {
    const result = z.fromJSONSchema({ ...withDefinitions(schema), $defs: this.definitions }).safeParse(body);
    return result.success ? [] : result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  }

  /** What is wrong with a JSON answer, or with one without a body (undefined). */
  answerProblems(name: string, status: number, body: unknown): string[] {
    const described = this.operation(name).responses[status];
    if (!described) return [`${name} answered ${status}, which the document does not have`];
    const schema = described.content?.["application/json"]?.schema;
    if (!schema) return body === undefined ? [] : [`${name} answered ${status} with a body`];
    return this.problems(schema, body).map((problem) => `${name} ${status}: ${problem}`);
  }
}

/** `z.fromJSONSchema` looks for references below `$defs`. */
function withDefinitions<T extends object>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll("#/components/schemas/", "#/$defs/"));
}
