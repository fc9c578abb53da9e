import { fileSignatureText, type SignedFile, signedFileText } from "@boxyard/spec";
import { InvalidArgumentError, UnsupportedError } from "../errors.ts";
import type { FileUrlOpts } from "./sandbox-options.ts";

export interface LinkedFile {
  readonly operation: "read" | "write";
  readonly path: string | undefined;
  /** Of the sandbox that has the file; it signs the URL. */
  readonly accessToken: string | undefined;
}

/** A URL below `base` by which anybody can do one thing with one file. */
export async function fileUrl(base: string, { operation, path, accessToken }: LinkedFile, opts: FileUrlOpts): Promise<string> {
  const url = new URL("/files", base);
  if (opts.user !== undefined) url.searchParams.set("username", opts.user);
  if (path !== undefined) url.searchParams.set("path", path);
  if (accessToken === undefined) {
    if (opts.expiresInSeconds === undefined) return url.toString();
    const message = "expiresInSeconds has no effect: this sandbox has no access token, so its files are open";
    throw new InvalidArgumentError(message, { code: "invalid_argument", reason: "sandbox_not_secured" });
  }
  const expiration = opts.expiresInSeconds === undefined ? undefined : Math.floor(Date.now() / 1000) + opts.expiresInSeconds;
  const signature = await signFileUrl({ path: path ?? "", operation, user: opts.user ?? "", accessToken, expiration });
  url.searchParams.set("signature", signature);
  if (expiration !== undefined) url.searchParams.set("signature_expiration", String(expiration));
  return url.toString();
}

/** Signature of a file URL: a holder of the URL may do this one thing, without the token (docs/contract/agent.md, Signed URLs). */
export async function signFileUrl(input: SignedFile): Promise<string> {
  const subtle = (globalThis as { crypto?: Crypto }).crypto?.subtle;
  if (!subtle) {
    const message = "signing a URL needs WebCrypto, which browsers offer on https and localhost only";
    throw new UnsupportedError(message, { code: "unimplemented", reason: "no_webcrypto" });
  }
  const digest = new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(signedFileText(input))));
  return fileSignatureText(btoa(String.fromCharCode(...digest)));
}
