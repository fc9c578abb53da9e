import type { Connection, UpstreamOwner, UpstreamPool, UpstreamTls } from "@boxyard/http1";
import type { Names } from "./names.ts";

export interface Ways {
  readonly names: Names;
  readonly pool: UpstreamPool;
  /** Authorities by which servers are verified, in PEM form; undefined: those that Bun brings. */
  readonly trust: () => string | undefined;
}

/** Receives what becomes of an attempt to reach a host. */
export interface HostOwner {
  /** Gets the events of the connection from now on. `isKept`: an earlier request has used it, and the server may close it at any time. */
  onReached(connection: Connection, isKept?: boolean): void;
  onUnreachable(): void;
}

/** An attempt to reach a host, which can be given up. */
export interface Attempt {
  cancel(): void;
}

export interface Target {
  /** Name or IPv4 address. */
  readonly host: string;
  readonly port: number;
  readonly tls?: UpstreamTls;
  /** Whether an address of the host may be connected to; all by default. */
  readonly permits?: (address: string) => boolean;
}

/**
 * Connects to the first address of a host that answers. The addresses are what the name server said, never what the sandbox asked for, unless the host is
 * given by its address.
 */
export function connectToHost({ names, pool }: Ways, { host, port, tls, permits = () => true }: Target, owner: HostOwner): Attempt {
  let isOver = false;
  let current: Connection | undefined;
  const tryNext = ([address, ...others]: readonly string[]): void => {
    if (isOver) return;
    if (address === undefined) {
      isOver = true;
      owner.onUnreachable();
      return;
    }
    const settled: UpstreamOwner = {
      onConnected() {
        if (isOver || !current) return;
        isOver = true;
        owner.onReached(current);
      },
      onConnectFailed: () => tryNext(others),
      onSettled() {},
      onData() {},
      onEnd() {},
      onDrain() {},
      onClose() {},
    };
    current = pool.connect({ host: address, port, ...(tls && { tls }) }, settled);
  };
  const begin = (addresses: readonly string[]) => tryNext(addresses.filter(permits));
  const found = isAddress(host) ? [host] : names.find(host);
  if (found instanceof Promise) void found.then(begin);
  else begin(found);
  return {
    cancel() {
      isOver = true;
      current?.destroy();
    },
  };
}

/** Whether a host is given by its IPv4 address. */
export const isAddress = (host: string) => /^\d+\.\d+\.\d+\.\d+$/.test(host);
