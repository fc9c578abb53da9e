import type { TemplateBuildInfo } from "@boxyard/spec/platform-types";
import { useEffect, useRef, useState } from "preact/hooks";
import { templates } from "../../lib/api.ts";
import { wordsOf } from "../../lib/api-error.ts";
import { clockTime, fullTime } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge } from "../../ui/state.tsx";

type Entry = TemplateBuildInfo["logEntries"][number];

const ASK_MS = 700;
const PAGE = 100;
/** Older entries are left out of what is shown. */
const MOST_ENTRIES = 5000;

interface Progress {
  readonly entries: readonly Entry[];
  readonly left: number;
  readonly status: string;
  readonly reason: string | undefined;
  readonly problem: string | undefined;
}

const START: Progress = { entries: [], left: 0, status: "waiting", reason: undefined, problem: undefined };

/** Follows a build until it ends. */
function useBuild(template: string, build: string): Progress {
  const [progress, setProgress] = useState(START);
  useEffect(() => {
    const gone = new AbortController();
    const follow = async () => {
      for (let offset = 0; !gone.signal.aborted; ) {
        let isMore = false;
        try {
          const info = await templates.status(template, build, offset, gone.signal);
          const { logEntries, status, reason } = info;
          offset += logEntries.length;
          isMore = logEntries.length >= PAGE;
          setProgress((before: Progress) => added(before, logEntries, status, reason?.message));
          if (!isMore && (status === "ready" || status === "error")) return;
        } catch (error) {
          if (!gone.signal.aborted) setProgress((before: Progress) => ({ ...before, problem: wordsOf(error) }));
        }
        if (!isMore) await new Promise((resolve) => setTimeout(resolve, ASK_MS));
      }
    };
    setProgress(START);
    void follow();
    return () => gone.abort();
  }, [template, build]);
  return progress;
}

function added(before: Progress, more: readonly Entry[], status: string, reason: string | undefined): Progress {
  const all = more.length === 0 ? before.entries : [...before.entries, ...more];
  const surplus = Math.max(0, all.length - MOST_ENTRIES);
  return { entries: surplus ? all.slice(surplus) : all, left: before.left + surplus, status, reason, problem: undefined };
}

export function BuildPage({ template, build }: { template: string; build: string }) {
  const { entries, left, status, reason, problem } = useBuild(template, build);
  const list = useRef<HTMLOListElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [entries]);
  const isOver = status === "ready" || status === "error";
  return (
    <Page
      title="Build"
      fill
      subtitle={
        <>
          <Badge state={status} />
          <Link to={`/templates/${encodeURIComponent(template)}`} class="mono">
            {template}
          </Link>
          <span class="mono muted">{build}</span>
        </>
      }
      actions={!isOver && <Button onPress={() => templates.cancel(template, build)}>Cancel</Button>}
    >
      {(reason ?? problem) && (
        <div class="banner bad" role="alert">
          {reason ?? problem}
        </div>
      )}
      <ol
        ref={list}
        class="log tall"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it
        tabIndex={0}
        aria-label="Log of the build"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 40;
        }}
      >
        {left > 0 && <li>{left.toLocaleString()} older entries are not shown</li>}
        {entries.map((entry, index) => (
          <li key={left + index} class={entry.level}>
            <time title={fullTime(entry.timestamp)}>{clockTime(entry.timestamp)}</time>
            <span class="log-level">{entry.step ?? entry.level}</span>
            <span class="log-text">{entry.message}</span>
          </li>
        ))}
      </ol>
    </Page>
  );
}
