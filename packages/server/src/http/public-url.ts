import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";

/**
 * The address under which this client reaches the server, without a slash at the end: `BOXYARD_PUBLIC_URL` if it is set, else the Host that
 * the client named, with https when a TLS front says so in `X-Forwarded-Proto`. Throws `invalid_argument` for a Host that is not a host name.
 */
export function publicUrl({ publicUrl }: Pick<ServerConfig, "publicUrl">, header: (name: string) => string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = header("host") ?? "";
  if (!/^[A-Za-z0-9.\-_[\]:]+$/.test(host)) throw new AppError("invalid_argument", "Host: is not a host name", { reason: "bad_host" });
  // Each front appends the protocol that it was asked by: the first one is the client's.
  const protocol = header("x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase();
  return `${protocol === "https" ? "https" : "http"}://${host}`;
}
