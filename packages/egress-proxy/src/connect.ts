import type { Connection, UpstreamOwner, UpstreamPool } from "@boxyard/http1";
import type { Names } from "./names.ts";

export interface Ways {
  readonly names: Names;
  readonly pool: UpstreamPool;
}

/** Receives what becomes of an attempt to reach a host. */
export interface HostOwner {
  /** Gets the events of the connection from now on. */
  onReached(connection: Connection): void;
  onUnreachable(): void;
}

/** An attempt to reach a host, which can be given up. */
export interface Attempt {
  cancel(): void;
}

/** Connects to the first address of a host that answers. The addresses are what the name server said, never what the sandbox asked for. */
export function connectToHost({ names, pool }: Ways, host: string, port: number, owner: HostOwner): Attempt {
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
    current = pool.connect({ host: address, port }, settled);
  };
  const found = names.find(host);
  if (found instanceof Promise) void found.then(tryNext);
  else tryNext(found);
  return {
    cancel() {
      isOver = true;
      current?.destroy();
    },
  };
}
