import type { EdgeHost } from "@boxyard/driver";
import { forwardedRequest, type RequestHead } from "@boxyard/http1";

/** The head of a request for the server, with the fields that the rules for its host set in place of the sandbox's own of these names. */
export function editedRequest(request: RequestHead, { headers }: EdgeHost): Uint8Array {
  const fields = Object.entries(headers);
  const names = fields.map(([name]) => name.toLowerCase());
  const head = Buffer.from(forwardedRequest(request, undefined, names)).toString("latin1");
  const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  // The head ends with an empty line, before which the fields go.
  return Buffer.from(`${head.slice(0, -2)}${lines}\r\n`, "latin1");
}
