import { AppError, type Clock } from "@boxyard/core";
import { randomHex } from "../../random.ts";
import { LIMITS } from "../limits.ts";
import type { Watch } from "./watch.ts";

interface Polled {
  readonly watch: Watch;
  cancelExpiry: () => void;
}

/** Watchers that clients poll, by id. One without a poll for `unpolledWatcherMs` is removed. */
export class PolledWatchers {
  private readonly byId = new Map<string, Polled>();
  private readonly clock: Clock;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Keeps the watch; returns its id. */
  add(watch: Watch): string {
    const id = `w${randomHex(10)}`;
    this.byId.set(id, { watch, cancelExpiry: this.expireLater(id) });
    return id;
  }

  /** The watch of this id, and starts its time anew. Throws `not_found`. */
  get(id: string): Watch {
    const polled = this.byId.get(id);
    if (!polled) throw new AppError("not_found", `watcher with id ${id} not found`, { reason: "watcher_not_found" });
    polled.cancelExpiry();
    polled.cancelExpiry = this.expireLater(id);
    return polled.watch;
  }

  /** Disposes of the watch. Throws `not_found`. */
  remove(id: string): void {
    this.get(id).dispose();
    this.byId.get(id)?.cancelExpiry();
    this.byId.delete(id);
  }

  private expireLater(id: string): () => void {
    const end = new AbortController();
    this.clock.sleep(LIMITS.unpolledWatcherMs, end.signal).then(
      () => this.remove(id),
      () => {},
    );
    return () => end.abort();
  }
}
