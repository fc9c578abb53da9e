import type { RequestHead } from "@boxyard/http1";

/** The host without its port, which the sandbox may name or leave out. Undefined for another port than the one that the connection goes to. */
export function portlessHost({ host }: Pick<RequestHead, "host">, expected: number): string | undefined {
  const [name, port = String(expected), ...more] = host.split(":");
  return more.length === 0 && port === String(expected) ? name : undefined;
}
