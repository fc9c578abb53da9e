import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../config.ts";

/**
 * The address under which this client reaches the server, without a slash at the end. `BOXYARD_PUBLIC_URL` wins; else it is the Host that the client
 * named, by https when a TLS front says so in `X-Forwarded-Proto`. Throws `invalid_argument`.
 */
export function publicUrl({ publicUrl }: Pick<ServerConfig, "publicUrl">, header: (name: string) => string | undefined): string {
  if (publicUrl !== undefined) return publicUrl;
  const host = header("host") ?? "";
  if (!/^[A-Za-z0-9.\-_[\]:]+$/.test(host)) throw new AppError("invalid_argument", "Host: is not a host name", { reason: "bad_host" });
  // Each front adds its own at the end: the first is what the client spoke.
  const protocol = header("x-forwarded-proto")?.split(",", 1)[0]?.trim().toLowerCase();
  return `${protocol === "https" ? "https" : "http"}://${host}`;
}
