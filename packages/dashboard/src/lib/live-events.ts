import type { Event } from "@boxyard/spec/platform-types";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api-error.ts";
import { dataOf } from "./event-stream.ts";
import { type EventFilter, events } from "./team-api.ts";
import { untilVisible, whileVisible } from "./visibility.ts";

const PAGE = 100;
/** Events that a page holds; older ones are dropped while new ones come. */
const MOST_HELD = 2000;
const FIRST_WAIT_MS = 1000;
const MOST_WAIT_MS = 15_000;

export interface LiveEvents {
  /** Newest first. */
  readonly list: readonly Event[] | undefined;
  readonly error: unknown;
  /** Whether new ones come by themselves at the moment. */
  readonly isLive: boolean;
  /** Reads the next older ones; undefined if there are none. */
  readonly readOlder: (() => Promise<void>) | undefined;
}

interface Known {
  readonly list?: readonly Event[];
  readonly error?: unknown;
  readonly isLive: boolean;
  readonly hasOlder: boolean;
}

const START: Known = { isLive: false, hasOlder: false };

/**
 * The newest events of the team, and those that come while the page is visible. A broken stream is opened again, and goes on after the last event. A hidden
 * page has none: a browser has six connections to a server for all its tabs, and each stream holds one.
 */
export function useEvents(filter: EventFilter): LiveEvents {
  const [known, setKnown] = useState<Known>(START);
  const key = JSON.stringify(filter);
  const shown = useRef(key);
  shown.current = key;
  useEffect(() => {
    setKnown(START);
    const end = new AbortController();
    void follow(filter, end.signal, (change) => {
      if (!end.signal.aborted) setKnown(change);
    });
    return () => end.abort();
    // The key says whether the filter is another one.
  }, [key]);
  const { list, error, isLive, hasOlder } = known;
  const last = list?.at(-1);
  const readOlder = async () => {
    const older = (await events.newest(filter, PAGE, last?.id)).events;
    // Another filter may have been chosen meanwhile.
    if (shown.current === key) setKnown((now) => ({ ...now, list: [...(now.list ?? []), ...older], hasOlder: older.length === PAGE }));
  };
  return { list, error, isLive, readOlder: hasOlder && (list?.length ?? 0) < MOST_HELD ? readOlder : undefined };
}

type Change = (to: (now: Known) => Known) => void;

async function follow(filter: EventFilter, signal: AbortSignal, change: Change): Promise<void> {
  let after: number | undefined;
  for (let waitMs = FIRST_WAIT_MS; !signal.aborted; waitMs = Math.min(waitMs * 2, MOST_WAIT_MS)) {
    await untilVisible(signal);
    try {
      if (after === undefined) {
        const { events: list } = await events.newest(filter, PAGE, undefined, signal);
        after = list[0]?.id ?? 0;
        change(() => ({ list, isLive: false, hasOlder: list.length === PAGE }));
      }
      await whileVisible(signal, async (visible) => {
        const { body } = await events.stream(filter, after ?? 0, visible);
        if (!body) return;
        change(({ error: _, ...now }) => ({ ...now, isLive: true }));
        waitMs = FIRST_WAIT_MS;
        for await (const data of dataOf(body)) {
          const event = JSON.parse(data) as Event;
          after = event.id;
          change((now) => ({ ...now, list: [event, ...(now.list ?? [])].slice(0, MOST_HELD) }));
        }
      });
    } catch (error) {
      if (signal.aborted) return;
      change((now) => ({ ...now, error, isLive: false }));
      // The key may not read events, or is none any more: asking again changes nothing.
      if (error instanceof ApiError && error.status < 429) return;
    }
    change((now) => ({ ...now, isLive: false }));
    await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}
