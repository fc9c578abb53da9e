import type { ClusterObject } from "./chart.ts";

/** A schema of the API server's OpenAPI document, as far as it is used here. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

export interface Schemas {
  /** The version of Kubernetes. */
  readonly version: string;
  /** The name of a definition, by `apiVersion kind`. */
  readonly kinds: Readonly<Record<string, string>>;
  readonly definitions: Readonly<Record<string, Schema>>;
}

export const kindOf = ({ apiVersion, kind }: Pick<ClusterObject, "apiVersion" | "kind">): string => `${apiVersion} ${kind}`;
const definitionOf = (ref: string): string => ref.replace("#/definitions/", "");

/** Looks at each part of an object beside its schema. `undefined`: there is no schema. */
type Look = (path: string, value: unknown, schema: Schema | undefined, definition: string | undefined) => void;

/** Walks through an object, and follows the schemas of its parts. */
export function walk(schemas: Pick<Schemas, "definitions">, path: string, value: unknown, schema: Schema | undefined, look: Look): void {
  const definition = schema?.$ref === undefined ? undefined : definitionOf(schema.$ref);
  const own = definition === undefined ? schema : schemas.definitions[definition];
  look(path, value, own, definition);
  if (own === undefined) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) walk(schemas, `${path}[${index}]`, item, own.items, look);
  } else if (typeof value === "object" && value !== null && own.type === "object") {
    for (const [name, part] of Object.entries(value)) {
      const of = own.properties?.[name] ?? own.additionalProperties;
      // An object without properties (a map of anything) takes all.
      if (of !== undefined || own.properties !== undefined) walk(schemas, `${path}.${name}`, part, of, look);
    }
  }
}

/** What the API server would refuse of an object: fields that it does not know, other types, what is missing. */
export function refusals(schemas: Schemas, object: ClusterObject): string[] {
  const definition = schemas.kinds[kindOf(object)];
  if (definition === undefined) return [`${kindOf(object)} is not in the schemas: write them again`];
  const found: string[] = [];
  walk(schemas, object.kind, object, { $ref: `#/definitions/${definition}` }, (path, value, schema) => {
    if (schema === undefined) found.push(`${path} is not known`);
    else if (!isOfType(value, schema)) found.push(`${path} is no ${schema.type}`);
    else for (const name of schema.required ?? []) if (!Object.hasOwn(value as object, name)) found.push(`${path}.${name} is missing`);
  });
  return found;
}

function isOfType(value: unknown, { type, format }: Schema): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "object") return typeof value === "object" && value !== null && !Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (format === "int-or-string") return Number.isInteger(value) || typeof value === "string";
  return type === undefined || typeof value === type;
}
