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
  return `${scheme}://${host}${forms.length > 0 ? maskText(forms, path) : path}`;
}

/** The fields of a request as they are kept: without secrets, and without credentials that the sandbox itself has. */
export function keptFields({ fields }: RequestHead, forms: readonly Buffer[]): RecordedFields {
  return fields.lower.map((name, index) => {
    const value = fields.value(index);
    if (CREDENTIALS.has(name) && !PLACEHOLDER.test(value)) return [name, REMOVED];
    return [name, forms.length > 0 ? maskText(forms, value) : value];
  });
}
