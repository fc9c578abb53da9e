import type { RecordedFields } from "@boxyard/driver/recordings";
import type { RequestHead } from "@boxyard/http1";
import { maskText } from "../masker.ts";

/** Where a request goes. */
export interface Origin {
  readonly scheme: "http" | "https";
  /** Name, or address. */
  readonly host: string;
}

/** Fields by which a client shows who it is. */
const CREDENTIALS = new Set(["authorization", "proxy-authorization", "cookie"]);
/** What a sandbox holds in place of a secret, which says nothing. */
const PLACEHOLDER = /^[\w-]* ?boxyard\.[a-z0-9_-]{1,128}\.secret$/i;
const REMOVED = "[removed]";

/** The URL of a request, without secrets. */
export function urlOf({ scheme, host }: Origin, { target }: RequestHead, forms: readonly Buffer[]): string {
  const path = target.startsWith("/") ? target : `/${target}`;
  return withoutSecrets(forms, `${scheme}://${host}${path}`);
}

/** A line of a head, or a part of one. */
export const withoutSecrets = (forms: readonly Buffer[], text: string): string => (forms.length > 0 ? maskText(forms, text) : text);

/** Fields without secrets in their values; a field whose name has one is left out. */
export const withoutSecretFields = (forms: readonly Buffer[], fields: RecordedFields): RecordedFields =>
  fields.flatMap(([name, value]) => (withoutSecrets(forms, name) === name ? [[name, withoutSecrets(forms, value)] as const] : []));

/** The fields of a request as they are kept: without secrets, and without credentials that the sandbox itself has. */
export function keptFields({ fields }: RequestHead, forms: readonly Buffer[]): RecordedFields {
  const kept = fields.lower.map((name, index) => {
    const value = fields.value(index);
    return [name, CREDENTIALS.has(name) && !PLACEHOLDER.test(value) ? REMOVED : value] as const;
  });
  return withoutSecretFields(forms, kept);
}
