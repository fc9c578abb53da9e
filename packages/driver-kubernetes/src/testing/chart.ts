import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../../../..");

/** An object of the cluster, as YAML has it. */
export interface ClusterObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Readonly<Record<string, string>> };
  readonly [field: string]: unknown;
}

export const fileOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The objects of a text of YAML. */
export function objectsOf(yaml: string): ClusterObject[] {
  return yaml
    .split(/^---$/m)
    .map((text) => Bun.YAML.parse(text) as ClusterObject | null)
    .flatMap((object) => object ?? []);
}

/** The sets of objects that deploy/render.sh has made of the chart. */
export const RENDERED = ["one", "several", "test"] as const;

export const renderedChart = (name: (typeof RENDERED)[number]): ClusterObject[] => objectsOf(fileOf(`deploy/rendered/${name}.yaml`));

/** The one object of a kind. */
export function only(objects: readonly ClusterObject[], kind: string): ClusterObject {
  const found = objects.filter((object) => object.kind === kind);
  if (found.length !== 1 || !found[0]) throw new Error(`${found.length} objects of kind ${kind}`);
  return found[0];
}

/** The paths of all files of a directory, in the order of their names' bytes. */
export const filesOf = (directory: string): string[] =>
  [...new Glob(`${directory}/**/*`).scanSync({ cwd: ROOT, dot: true })].toSorted((a, b) => (a < b ? -1 : 1));
