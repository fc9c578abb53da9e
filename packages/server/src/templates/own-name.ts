import { AppError, type TeamId } from "@boxyard/core";
import { parseTag, parseTemplateReference } from "./reference.ts";
import type { Templates } from "./templates.ts";

export interface OwnNameDeps {
  readonly templates: Templates;
  /** Namespace of a team. */
  readonly slugOf: (teamId: TeamId) => Promise<string>;
}

/** Parses the name that a team gives a template: name and tag in lower case. Throws `invalid_argument`; `already_exists` for the id of a template. */
export async function ownName(
  { templates, slugOf }: OwnNameDeps,
  teamId: TeamId,
  text: string,
  field: string,
): Promise<{ name: string; tag?: string }> {
  const { namespace, name, tag } = parseTemplateReference(text, field);
  if (namespace !== undefined && namespace !== (await slugOf(teamId))) {
    throw new AppError("invalid_argument", `${field}: the namespace '${namespace}' is not yours`, { reason: "foreign_namespace" });
  }
  if (templates.isId(name)) {
    throw new AppError("already_exists", `${field}: Alias '${name}' is already used`, { reason: "name_taken" });
  }
  return { name, ...(tag === undefined ? {} : { tag: parseTag(tag, field) }) };
}
