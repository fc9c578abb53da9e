import { AppError, type Clock, TimeLimit } from "@boxyard/core";
import type { KubeApi } from "./api/client.ts";
import type { DriverLogger } from "./config.ts";

/** A watch that ends sooner did not end by its time. */
const SHORT_MS = 1000;
/** The code of an event `ERROR`: what happened since that version is forgotten. */
const GONE = 410;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;
/** Seconds after which the API server ends a watch. */
const WATCH_SECONDS = 240;
/** Milliseconds after which a watch is given up that the API server should have ended: its connection has died unnoticed. */
const LOST_MS = (WATCH_SECONDS + 30) * 1000;
/** Objects in one answer of a list. */
const PAGE = "500";

/** What every object of the API has, as far as it is followed. */
export interface ApiObject {
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion?: string };
}

/** The object of an event `ERROR`. */
interface Failure {
  readonly code?: number;
  readonly message?: string;
}

interface List<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** All objects of a path that the query selects, in pages. */
export async function listAll<T>(
  api: KubeApi,
  path: string,
  query: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<{ items: T[]; version: string }> {
  const all: T[] = [];
  let next = "";
  for (;;) {
    const page = { ...query, limit: PAGE, ...(next && { continue: next }) };
    const { metadata, items } = await api.get<List<T>>(path, { query: page, ...(signal && { signal }) });
    all.push(...items);
    next = metadata.continue ?? "";
    if (next === "") return { items: all, version: metadata.resourceVersion ?? "" };
  }
}

export interface FollowOptions<T> {
  readonly path: string;
  /** `labelSelector`, `fieldSelector`. */
  readonly query: Readonly<Record<string, string>>;
  readonly clock: Clock;
  readonly logger: DriverLogger;
  /** All that is there: at the beginning, and after an outage. */
  onList(all: readonly T[]): void;
  /** `gone`: the object was removed, or the query selects it no more. */
  onChange(object: T, gone: boolean): void;
}

/** Follows the objects of a path: lists them, then watches their changes, and begins again after every outage, until `stop`. */
export class Follow<T extends ApiObject> {
  private readonly api: KubeApi;
  private readonly options: FollowOptions<T>;
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;

  constructor(api: KubeApi, options: FollowOptions<T>) {
    this.api = api;
    this.options = options;
  }

  /** Aborted by `stop`. */
  get signal(): AbortSignal {
    return this.stopping.signal;
  }

  /** Repeatable. */
  start(): void {
    this.loop ??= this.follow();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.loop;
  }

  private async follow(): Promise<void> {
    const { signal } = this.stopping;
    const { clock, logger, path } = this.options;
    let waitMs = FIRST_WAIT_MS;
    while (!signal.aborted) {
      try {
        await this.followOnce(() => {
          waitMs = FIRST_WAIT_MS;
        });
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error, path }, "the watch of the cluster's objects was lost; it is opened again");
        await clock.sleep(waitMs, signal).catch(() => {});
        waitMs = Math.min(waitMs * 2, MAX_WAIT_MS);
      }
    }
  }

  /** Lists all, then follows the changes until the API server ends the watch or has forgotten the version. */
  private async followOnce(onAlive: () => void): Promise<void> {
    const { signal } = this.stopping;
    const { path, query, clock, onList, onChange } = this.options;
    const { items, version } = await listAll<T>(this.api, path, query, signal);
    onList(items);
    let resourceVersion = version;
    while (!signal.aborted) {
      const watch = { ...query, resourceVersion, allowWatchBookmarks: "true", timeoutSeconds: String(WATCH_SECONDS) };
      const openedAt = clock.monotonic();
      using limit = new TimeLimit(LOST_MS, clock);
      for await (const { type, object } of this.api.watch<T>(path, watch, AbortSignal.any([signal, limit.signal]))) {
        // The version is too old: everything is listed again, and after any other error not at once.
        if (type === "ERROR" && (object as Failure).code === GONE) return;
        if (type === "ERROR")
          throw new AppError("unavailable", `The cluster ended a watch: ${(object as Failure).message ?? "without a reason"}`);
        onAlive();
        resourceVersion = object.metadata.resourceVersion ?? resourceVersion;
        if (type !== "BOOKMARK") onChange(object, type === "DELETED");
      }
      if (clock.monotonic() - openedAt < SHORT_MS) throw new AppError("unavailable", "The cluster ended a watch at once");
      onAlive();
    }
  }
}
