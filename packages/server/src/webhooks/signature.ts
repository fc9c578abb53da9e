import { createHash, createHmac } from "node:crypto";

/** Characters of a SHA-256 in base64 without padding. */
const UNPADDED = 43;

interface Signed {
  readonly webhookId: string;
  readonly deliveryId: string;
  readonly type: string;
  readonly body: string;
  readonly secret: string;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

/**
 * The fields of a delivery. The contract's signature, `e2b-signature`, is of the secret and the body. Ours is an HMAC that covers the time too, so
 * that a receiver can refuse what somebody has recorded and sends again.
 */
export function signedFields({ webhookId, deliveryId, type, body, secret, timestamp }: Signed): Record<string, string> {
  const plain = createHash("sha256")
    .update(secret + body)
    .digest("base64");
  return {
    "Content-Type": "application/json",
    "User-Agent": "boxyard-webhooks",
    "e2b-webhook-id": webhookId,
    "e2b-delivery-id": deliveryId,
    "e2b-signature-version": "v1",
    "e2b-signature": plain.slice(0, UNPADDED),
    "Boxyard-Event": type,
    "Boxyard-Timestamp": String(timestamp),
    "Boxyard-Signature": `v1=${createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")}`,
  };
}
