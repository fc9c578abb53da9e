import { z } from "zod";
import type { Session } from "../session/session.ts";

/** A call of a tool. */
export interface ToolCall {
  readonly session: Session;
  /** Aborts when the client cancels the call. */
  readonly signal: AbortSignal;
  /** Shows new output of a command to a client that has asked for progress. */
  readonly progress: ((message: string) => void) | undefined;
}

export type Content =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string };

export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly readOnly: boolean;
  /** Parses the arguments and does the work. Throws what `explain` can explain. */
  call(args: unknown, call: ToolCall): Promise<string | Content>;
}

interface Definition<S extends z.ZodRawShape> {
  readonly name: string;
  readonly description: string;
  readonly input: S;
  readonly readOnly?: boolean;
  run(args: z.output<z.ZodObject<S>>, call: ToolCall): Promise<string | Content>;
}

export function tool<S extends z.ZodRawShape>({ name, description, input, readOnly = false, run }: Definition<S>): Tool {
  const schema = z.strictObject(input);
  return { name, description, input: schema, readOnly, call: async (args, call) => run(schema.parse(args ?? {}) as never, call) };
}

/** The parameter of tools that work in a sandbox. */
export const sandbox = z.string().optional().describe("id; may be omitted if there is one");

/** The JSON Schema of a tool's arguments, without what tells a model nothing: every word of it costs tokens in every conversation. */
export function published(input: z.ZodObject): Record<string, unknown> {
  const {
    $schema: _,
    additionalProperties: __,
    ...schema
  } = z.toJSONSchema(input, { io: "input", override: ({ jsonSchema }) => shorten(jsonSchema) });
  return schema;
}

function shorten(schema: Record<string, unknown>): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  if (typeof schema.additionalProperties === "boolean") delete schema.additionalProperties;
  delete schema.propertyNames;
}
