import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";

/** What the request's headers say about a call. Each function throws `invalid_argument` where they are wrong. */

/** `Connect-Timeout-Ms` in milliseconds; undefined when absent or 0. */
export function timeoutOf(headers: Headers): number | undefined {
  const text = headers.get("connect-timeout-ms");
  if (text === null) return undefined;
  if (!/^\d{1,10}$/.test(text)) {
    throw new AppError("invalid_argument", `Connect-Timeout-Ms must be up to ten digits, not '${text.slice(0, 40)}'`, {
      reason: "bad_timeout",
    });
  }
  return Number(text) || undefined;
}

/** `Keepalive-Ping-Interval` (seconds) in milliseconds; what is not a positive number counts as absent. */
export function keepaliveOf(headers: Headers): number {
  const text = headers.get("keepalive-ping-interval");
  const seconds = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return seconds > 0 ? Math.max(LIMITS.keepaliveMinMs, seconds * 1000) : LIMITS.keepaliveDefaultMs;
}

/** User of the Basic header, password ignored; undefined without one, or with one that can't be read. */
export function basicUser(headers: Headers): string | undefined {
  const text = headers.get("authorization");
  if (text === null) return undefined;
  const match = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(text);
  // Other schemes are none of our business: proxies and clients add Bearer tokens of their own.
  if (!match?.[1]) return undefined;
  const pair = Buffer.from(match[1], "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? pair : pair.slice(0, colon);
}

/** Refuses other versions of the protocol and every compression; `stream` says which header speaks of it. */
export function checkProtocol(headers: Headers, stream: boolean): void {
  const version = headers.get("connect-protocol-version");
  if (version !== null && version !== "1") {
    throw new AppError("invalid_argument", `Connect-Protocol-Version must be 1, not '${version.slice(0, 40)}'`, { reason: "bad_version" });
  }
  const encoding = headers.get(stream ? "connect-content-encoding" : "content-encoding");
  if (encoding !== null && encoding !== "" && encoding.toLowerCase() !== "identity") {
    throw new AppError("unimplemented", `content encoding '${encoding.slice(0, 40)}' is not supported, send identity`, {
      reason: "compressed",
    });
  }
}
