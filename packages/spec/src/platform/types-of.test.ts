import { expect, test } from "bun:test";
import { typesOf } from "./types-of.ts";

const typeOf = (schema: unknown) => typesOf({ T: schema }).split("export type T = ")[1]?.trimEnd();

test.each([
  [{ type: "integer" }, "number;"],
  [{ type: ["string", "null"] }, "string | null;"],
  [{ type: "string", enum: ["a", "b"] }, '"a" | "b";'],
  [{ $ref: "#/components/schemas/Other" }, "Other;"],
  [{ type: "array", items: { type: "string" } }, "readonly string[];"],
  [{ type: "array", items: { type: "string", enum: ["a"] } }, 'readonly ("a")[];'],
  [{ type: "object", additionalProperties: { type: "boolean" } }, "Readonly<Record<string, boolean>>;"],
  [{ type: "object", properties: {} }, "Readonly<Record<string, unknown>>;"],
  [{ oneOf: [{ $ref: "#/a/A" }, { $ref: "#/a/B" }] }, "A | B;"],
  [{ allOf: [{ $ref: "#/a/A" }, { description: "what it is for" }] }, "A;"],
  [{}, "unknown;"],
])("%j becomes %s", (schema, type) => expect(typeOf(schema)).toBe(type));

test("members are required as the schema says, names that are no identifiers in quotes, objects indented", () => {
  const inner = { type: "object", properties: { "a-b": { type: "string" } }, required: ["a-b"] };
  expect(typeOf({ type: "object", properties: { inner, n: { type: "number" } }, required: ["inner"] })).toBe(
    '{\n  readonly inner: {\n    readonly "a-b": string;\n  };\n  readonly n?: number | undefined;\n};',
  );
});

test("a schema of an unknown kind is refused", () => {
  expect(() => typesOf({ T: { type: "tuple" } })).toThrow("There is no TypeScript type");
});
