import { fileSignatureText, type SignedFile, signedFileText } from "@boxyard/spec";
import { UnsupportedError } from "../errors.ts";

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
