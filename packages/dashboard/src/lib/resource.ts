import { useEffect, useReducer } from "preact/hooks";

/** What a page knows of something on the server. */
export interface Resource<T> {
  readonly data: T | undefined;
  /** Why the last attempt failed; `data` is then what was known before. */
  readonly error: unknown;
  /** Asks the server again, now. */
  reload(): Promise<void>;
}

interface Entry {
  data: unknown;
  text: string | undefined;
  error: unknown;
  readonly listeners: Set<() => void>;
  loading: AbortController | undefined;
}

/** What pages have seen stays for a while, so that going back shows it at once. */
const MAX_KEPT = 60;
const entries = new Map<string, Entry>();

function entryOf(key: string): Entry {
  const known = entries.get(key);
  if (known) return known;
  for (const [name, { listeners }] of entries) {
    if (entries.size < MAX_KEPT) break;
    if (listeners.size === 0) entries.delete(name);
  }
  const entry: Entry = { data: undefined, text: undefined, error: undefined, listeners: new Set(), loading: undefined };
  entries.set(key, entry);
  return entry;
}

async function load(entry: Entry, read: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  entry.loading?.abort();
  const loading = new AbortController();
  entry.loading = loading;
  try {
    const data = await read(loading.signal);
    if (loading.signal.aborted) return;
    const text = JSON.stringify(data);
    const same = text === entry.text && entry.error === undefined;
    entry.error = undefined;
    if (same) return;
    entry.data = data;
    entry.text = text;
  } catch (error) {
    if (loading.signal.aborted) return;
    entry.error = error;
  }
  for (const listener of entry.listeners) listener();
}

/** Forgets everything: another person may sign in. */
export function forgetAll(): void {
  for (const entry of entries.values()) entry.loading?.abort();
  entries.clear();
}

/**
 * Reads something of the server and keeps it current while the page is visible: every `everyMs` after the last answer, and less often when answers take
 * long. The component is shown anew only when the answer has changed.
 */
export function useResource<T>(key: string, read: (signal: AbortSignal) => Promise<T>, everyMs = 0): Resource<T> {
  const [, show] = useReducer((count: number) => count + 1, 0);
  const entry = entryOf(key);
  useEffect(() => {
    const own = entryOf(key);
    own.listeners.add(show as () => void);
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    const next = async () => {
      const startedAt = performance.now();
      if (document.visibilityState === "visible" || own.text === undefined) await load(own, read);
      if (isOver || everyMs === 0) return;
      timer = setTimeout(next, Math.max(everyMs, (performance.now() - startedAt) * 10));
    };
    void next();
    const onVisible = () => document.visibilityState === "visible" && everyMs > 0 && void load(own, read);
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
      own.listeners.delete(show as () => void);
      if (own.listeners.size === 0) own.loading?.abort();
    };
    // `read` is made anew each time the component is shown; the key says whether it reads something else.
  }, [key, everyMs]);
  return { data: entry.data as T | undefined, error: entry.error, reload: () => load(entryOf(key), read) };
}
