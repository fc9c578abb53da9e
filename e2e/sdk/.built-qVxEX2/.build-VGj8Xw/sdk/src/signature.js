import { UnsupportedError } from "./errors.js";
/** Signature of a file URL: whoever holds the URL may do this one thing, without the token (contract/wire.md 3.4). */
export async function signFileUrl(input) {
    const parts = [input.path, input.operation, input.user, input.accessToken];
    if (input.expiration !== undefined)
        parts.push(String(input.expiration));
    const subtle = globalThis.crypto?.subtle;
    if (!subtle) {
        const message = "signing a URL needs WebCrypto, which browsers offer on https and localhost only";
        throw new UnsupportedError(message, { code: "unimplemented", reason: "no_webcrypto" });
    }
    const digest = new Uint8Array(await subtle.digest("SHA-256", new TextEncoder().encode(parts.join(":"))));
    return `v1_${btoa(String.fromCharCode(...digest)).replace(/=+$/, "")}`;
}
