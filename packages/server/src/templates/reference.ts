import { AppError } from "@boxyard/core";

export interface TemplateReference {
  readonly namespace?: string;
  /** Name or id. */
  readonly name: string;
  readonly tag?: string;
}

const PART = /^[a-z0-9_-]{1,128}$/;
const TAG = /^[a-z0-9_.-]{1,128}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Parses `[namespace/]name-or-id[:tag]`; ignores case and outer spaces. Throws `invalid_argument`, reason `invalid_template_reference`, whose
 * message begins with `field`.
 */
export function parseTemplateReference(text: string, field = "templateID"): TemplateReference {
  const [, namespace, name = "", tag] = /^(?:([^/:]*)\/)?([^/:]*)(?::([^/:]*))?$/.exec(text.trim().toLowerCase()) ?? [];
  const fine = PART.test(name) && (namespace === undefined || PART.test(namespace)) && (tag === undefined || TAG.test(tag));
  if (!fine) {
    throw new AppError("invalid_argument", `${field}: Invalid template reference '${text.slice(0, 200)}'; it is [namespace/]name[:tag]`, {
      reason: "invalid_template_reference",
    });
  }
  return { ...(namespace === undefined ? {} : { namespace }), name, ...(tag === undefined ? {} : { tag }) };
}

/** Whether the text in a tag's place is the id of a build. No tag can look like one. */
export const isBuildId = (tag: string): boolean => UUID.test(tag);

/** Whether `parseTemplateReference` accepts a text. */
export function isTemplateReference(text: string): boolean {
  try {
    parseTemplateReference(text);
    return true;
  } catch {
    return false;
  }
}

/** Parses a tag, which is kept in lower case. Throws `invalid_argument`, reason `invalid_tag`, whose message begins with `field`. */
export function parseTag(text: string, field = "tags"): string {
  const tag = text.trim().toLowerCase();
  const refuse = (why: string) => new AppError("invalid_argument", `${field}: '${text.slice(0, 200)}' ${why}`, { reason: "invalid_tag" });
  if (!TAG.test(tag)) throw refuse("is not a tag: 1 to 128 letters, digits, '-', '_' or '.'");
  if (isBuildId(tag)) throw refuse("cannot be a tag, because it looks like the id of a build");
  return tag;
}
