import { UnsupportedError } from "../errors.ts";

export interface SignatureInput {
  /** Exactly as it stands in the URL's `path`; empty when there is none. */
  readonly path: string;
  readonly operation: "read" | "write";
  /** Exactly as it stands in the URL's `username`; empty when there is none. */
  readonly user: string;
  readonly accessToken: string;
  /** Unix seconds; undefined means for ever. */
  readonly expiration?: number | undefined;
}

/** Signature of a file URL: a holder of the URL may do this one thing, without the token (docs/contract/agent.md, Signed URLs). */
export async function signFileUrl(input: SignatureInput): Promise<string> {
  const parts = [input.path, input.operation, input.user, input.accessToken];
  if (input.expiration !== undefined) parts.push(String(input.expiration));
  const subtle = (globalThis as { crypto?: Crypto }).crypto?.subtle;
  if (!subtle) {
    const message = "signing a URL needs WebCrypto, which browsers offer on https and localhost only";
    throw new UnsupportedError(message, { code: "unimplemented", reason: "no_webcrypto" });
  }
  const digest = new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(parts.join(":"))));
  return `v1_${btoa(String.fromCharCode(...digest)).replace(/=+$/, "")}`;
}
