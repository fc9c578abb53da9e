import { AppError } from "@boxyard/core";

export interface TemplateReference {
  readonly namespace?: string;
  /** Name or id. */
  readonly name: string;
  readonly tag?: string;
}

const PART = /^[a-z0-9_-]{1,128}$/;
const TAG = /^[a-z0-9_.-]{1,128}$/;

/** `[namespace/]name-or-id[:tag]`, case and outer spaces aside. Throws `invalid_argument`, reason `invalid_template_reference`. */
export function parseTemplateReference(text: string): TemplateReference {
  const [, namespace, name = "", tag] = /^(?:([^/:]*)\/)?([^/:]*)(?::([^/:]*))?$/.exec(text.trim().toLowerCase()) ?? [];
  const fine = PART.test(name) && (namespace === undefined || PART.test(namespace)) && (tag === undefined || TAG.test(tag));
  if (!fine) {
    throw new AppError("invalid_argument", `templateID: Invalid template reference '${text.slice(0, 200)}'; it is [namespace/]name[:tag]`, {
      reason: "invalid_template_reference",
    });
  }
  return { ...(namespace === undefined ? {} : { namespace }), name, ...(tag === undefined ? {} : { tag }) };
}
