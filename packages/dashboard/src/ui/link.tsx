import type { ComponentChildren } from "preact";
import { go, hrefOf } from "../lib/router.ts";

interface LinkProps {
  readonly to: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly current?: boolean;
  readonly title?: string;
}

/** A link to another page of the dashboard. */
export function Link({ to, children, class: name, current = false, title }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={hrefOf(to)} class={name} title={title} aria-current={current ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  );
}
