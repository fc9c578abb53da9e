/*
 * Writes generated/api-schemas.json: of the OpenAPI document of Kubernetes the schemas that the rendered chart (deploy/rendered) and a sandbox's objects use.
 * The document is api/openapi-spec/swagger.json of the Go module k8s.io/kubernetes:
 *
 *   bun packages/driver-kubernetes/src/testing/write-api-schemas.ts PATH VERSION
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { kindOf, type Schema, walk } from "./api-schema.ts";
import { RENDERED, renderedChart } from "./chart.ts";
import { isOfTheApi, sandboxObjects } from "./sandbox-objects.ts";

interface Definition extends Schema {
  readonly "x-kubernetes-group-version-kind"?: readonly { readonly group: string; readonly version: string; readonly kind: string }[];
}

const [path = "", version = ""] = process.argv.slice(2);
const { definitions } = JSON.parse(readFileSync(path, "utf8")) as { definitions: Record<string, Definition> };

const names = new Map<string, string>();
for (const [name, { "x-kubernetes-group-version-kind": kinds = [] }] of Object.entries(definitions)) {
  for (const { group, version: of, kind } of kinds) names.set(kindOf({ apiVersion: group === "" ? of : `${group}/${of}`, kind }), name);
}

/** A schema without its texts. */
function bare({ $ref, type, format, items, additionalProperties, properties, required }: Schema): Schema {
  return {
    ...($ref && { $ref }),
    ...(type && { type }),
    ...(format && { format }),
    ...(items && { items: bare(items) }),
    ...(additionalProperties && { additionalProperties: bare(additionalProperties) }),
    ...(properties && { properties: Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, bare(schema)])) }),
    ...(required && { required }),
  };
}

const kinds: Record<string, string> = {};
const used: Record<string, Schema> = {};
for (const object of [...RENDERED.flatMap(renderedChart), ...sandboxObjects()].filter(isOfTheApi)) {
  const name = names.get(kindOf(object));
  if (name === undefined) throw new Error(`${path} has no ${kindOf(object)}`);
  kinds[kindOf(object)] = name;
  walk({ definitions }, object.kind, object, { $ref: `#/definitions/${name}` }, (at, _value, schema, definition) => {
    if (schema === undefined) throw new Error(`${at} is not known`);
    if (definition !== undefined) used[definition] = bare(schema);
  });
}
const sorted = <T>(record: Readonly<Record<string, T>>) =>
  Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)));
mkdirSync(join(import.meta.dir, "generated"), { recursive: true });
const text = JSON.stringify({ version, kinds: sorted(kinds), definitions: sorted(used) }, null, 1);
writeFileSync(join(import.meta.dir, "generated/api-schemas.json"), `${text}\n`);
