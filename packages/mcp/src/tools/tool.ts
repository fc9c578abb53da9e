import { z } from "zod";
import type { Member, Session } from "../session/session.ts";

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

/** A tool that works in a sandbox of the session. */
interface SandboxDefinition<S extends z.ZodRawShape> extends Omit<Definition<S>, "run"> {
  run(args: z.output<z.ZodObject<S>>, member: Member, call: ToolCall): Promise<string | Content>;
}

const sandbox = z.string().optional().describe("id; may be omitted if there is one");

export function sandboxTool<S extends z.ZodRawShape>({ input, run, ...definition }: SandboxDefinition<S>): Tool {
  const withSandbox = async ({ sandbox: id, ...args }: { readonly sandbox?: string | undefined }, call: ToolCall) => {
    const member = await call.session.member(id);
    try {
      return await run(args as never, member, call);
    } catch (error) {
      await call.session.lookAgain(member, error);
      throw error;
    }
  };
  return tool({ ...definition, input: { sandbox, ...input }, run: withSandbox as never });
}

/** The JSON Schema of a tool's arguments, without what tells a model nothing: every word of it costs tokens in every conversation. */
export function published(input: z.ZodObject): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: "input", override: ({ jsonSchema }) => shorten(jsonSchema) });
  return schema;
}

function shorten(schema: Record<string, unknown>): void {
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
  delete schema.propertyNames;
}
