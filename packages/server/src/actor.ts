import { AsyncLocalStorage } from "node:async_hooks";

/** Who causes a change: the holder of an API key or of the admin token, or the server by itself (an expiry, a restart, a sweep). */
export type Actor = ({ readonly kind: "key"; readonly id: string } | { readonly kind: "admin" } | { readonly kind: "server" }) & {
  /** The network address of the client. */
  readonly address?: string;
};

export const SERVER: Actor = { kind: "server" };

const current = new AsyncLocalStorage<Actor>();

/** The actor of the current request or task; `SERVER` outside of `actAs`. */
export function currentActor(): Actor {
  return current.getStore() ?? SERVER;
}

/** Runs `work` with `actor` as the current actor, also for its asynchronous parts. */
export function actAs<T>(actor: Actor, work: () => T): T {
  return current.run(actor, work);
}
