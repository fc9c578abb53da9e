import type { Sandbox } from "@boxyard/sdk";

const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/**
 * URLs of a port: one with a host name of its own, for browsers, and one below the server's address, which every client reaches. `publicUrl` is the
 * server's address as clients elsewhere know it, where it is another than the one that the SDK uses.
 */
export function portUrls(sandbox: Pick<Sandbox, "getUrl" | "portUrl">, port: number, publicUrl: string | undefined): string[] {
  const named = new URL(sandbox.getUrl(port));
  const below = new URL(`${sandbox.portUrl(port)}/`);
  const base = new URL(publicUrl ?? below.origin);
  named.protocol = base.protocol;
  // Names below `localhost` lead clients elsewhere to their own machines.
  const isReachable = !named.hostname.endsWith(".localhost") || LOOPBACK.test(base.hostname);
  const path = `${base.origin}${base.pathname.replace(/\/$/, "")}${below.pathname}`;
  return [...(isReachable ? [named.href] : []), path];
}
