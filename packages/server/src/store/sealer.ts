import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { AppError } from "@boxyard/core";

/** Prefix of every sealed text: the version of the format. */
const VERSION = "sealed.v1";
const CIPHER = "aes-256-gcm";
export const KEY_BYTES = 32;
/** The length that GCM is made for (NIST SP 800-38D, 5.2.1.1). Random nonces are safe for far more texts under one key than a store holds. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts texts for the store with AES-256-GCM and a key that is not in the store. A sealed text is
 * `sealed.v1.<id of the key>.<base64url of nonce, ciphertext and tag>`, and is bound to its place: moved to another row it does not open.
 */
export class Sealer {
  /** The key's id: a part of a hash, which does not reveal the key. */
  readonly keyId: string;
  private readonly key: Uint8Array;

  constructor(key: Uint8Array) {
    if (key.length !== KEY_BYTES) throw new RangeError(`a key has ${KEY_BYTES} bytes`);
    this.key = key;
    this.keyId = createHash("sha256").update("boxyard store key").update(key).digest("hex").slice(0, 16);
  }

  /** Another key of the same length, for a purpose of its own. It does not reveal the store's, and is another one after a change of that. */
  derive(purpose: string): Uint8Array {
    return new Uint8Array(hkdfSync("sha256", this.key, "", purpose, KEY_BYTES));
  }

  /** Seals a text. `place` names its row and column. */
  seal(text: string, place: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(Buffer.from(place));
    const sealed = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
    return `${VERSION}.${this.keyId}.${sealed.toString("base64url")}`;
  }

  /** Opens a sealed text. Throws `data_loss`: reason `store_key` for a text of another key, `store_broken` for a text that was changed or moved. */
  open(text: string, place: string): string {
    const [, body] = text.slice(VERSION.length + 1).split(".");
    if (keyIdOf(text) !== this.keyId) throw wrongKey();
    const bytes = Buffer.from(body ?? "", "base64url");
    try {
      const decipher = createDecipheriv(CIPHER, this.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
    } catch (cause) {
      throw new AppError("data_loss", `A secret of the store was changed (${place})`, { reason: "store_broken", cause });
    }
  }
}

export const isSealed = (text: string): boolean => text.startsWith(`${VERSION}.`);

/** The id of a sealed text's key; undefined for a plain text. */
export const keyIdOf = (text: string): string | undefined => (isSealed(text) ? text.slice(VERSION.length + 1).split(".")[0] : undefined);

function wrongKey(): AppError {
  return new AppError(
    "data_loss",
    "The sandboxes of this data directory were sealed with another key than its file 'store-key' has now: put the file back that belongs to them",
    { reason: "store_key" },
  );
}
