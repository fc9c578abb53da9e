import { AppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";

/* Headers of a call. */

/** `Connect-Timeout-Ms` in milliseconds; undefined when absent or 0. Throws `invalid_argument` for another value. */
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

/** `Keepalive-Ping-Interval` (seconds) in milliseconds, at least 1,000; 90,000 when absent or not a positive integer. */
export function keepaliveOf(headers: Headers): number {
  const text = headers.get("keepalive-ping-interval");
  const seconds = text !== null && /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return seconds > 0 ? Math.max(LIMITS.keepaliveMinMs, seconds * 1000) : LIMITS.keepaliveDefaultMs;
}

/** User of the Basic header, without the password; undefined without such a header, or with a malformed one. */
export function basicUser(headers: Headers): string | undefined {
  const text = headers.get("authorization");
  if (text === null) return undefined;
  const match = /^basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(text);
  // Other schemes are ignored: proxies and clients add Bearer tokens of their own.
  if (!match?.[1]) return undefined;
  const pair = Buffer.from(match[1], "base64").toString("utf8");
  const colon = pair.indexOf(":");
  return colon < 0 ? pair : pair.slice(0, colon);
}

/** Throws `invalid_argument` for other versions of the protocol, `unimplemented` for compression. `stream`: the header of streams names the coding. */
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
