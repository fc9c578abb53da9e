import type { ComponentChildren } from "preact";
import { wordsOf } from "../lib/api-error.ts";
import type { Resource } from "../lib/resource.ts";
import { Button } from "./button.tsx";
import { Snippet } from "./copy.tsx";
import { Icon, type IconName } from "./icon.tsx";

const TONES: Readonly<Record<string, string>> = {
  running: "good",
  ready: "good",
  paused: "warm",
  waiting: "warm",
  building: "busy",
  live: "good",
  on: "good",
  held: "warm",
  connecting: "busy",
  "given up": "bad",
  ok: "good",
  warning: "warm",
  failed: "bad",
  error: "bad",
  unresponsive: "bad",
};

/** The state of something, in its own words and a colour. */
export function Badge({ state }: { state: string }) {
  return <span class={`badge ${TONES[state] ?? ""}`}>{state}</span>;
}

interface EmptyProps {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
  /** The same from a terminal. */
  readonly command?: string;
}

/** Nothing is there yet: what it would be, and the next step. */
export function Empty({ icon, title, children, command }: EmptyProps) {
  return (
    <div class="empty">
      <div class="empty-icon">
        <Icon name={icon} />
      </div>
      <h2>{title}</h2>
      {children}
      {command && <Snippet text={command} label="command" />}
    </div>
  );
}

/** Shows what a resource has, or says that it is awaited or why it is not there. */
export function Loaded<T>({ from, children }: { from: Resource<T>; children: (data: T) => ComponentChildren }) {
  const { data, error, reload } = from;
  return (
    <>
      {error !== undefined && (
        <div class="banner bad" role="alert">
          <span>{wordsOf(error)}</span>
          <Button kind="quiet" icon="refresh" onPress={reload}>
            Try again
          </Button>
        </div>
      )}
      {data !== undefined ? children(data) : error === undefined && <div class="skeleton" aria-busy="true" />}
    </>
  );
}
