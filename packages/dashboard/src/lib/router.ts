import { useEffect, useState } from "preact/hooks";

/** All pages are below this path. */
const BASE = "/dashboard";

const listeners = new Set<() => void>();

/** The present place, without the base: `/sandboxes/i123/files`. */
const place = (): string => location.pathname.slice(BASE.length).replace(/\/$/, "") + location.search;

export const hrefOf = (to: string): string => BASE + (to === "/" ? "" : to);

/** Shows another page. */
export function go(to: string, { replace = false } = {}): void {
  history[replace ? "replaceState" : "pushState"](null, "", hrefOf(to));
  for (const listener of listeners) listener();
}

/** The parts of the present place, decoded; the component is shown anew when it changes. */
export function usePlace(): readonly string[] {
  const [at, setAt] = useState(place());
  useEffect(() => {
    const follow = () => setAt(place());
    listeners.add(follow);
    addEventListener("popstate", follow);
    return () => {
      listeners.delete(follow);
      removeEventListener("popstate", follow);
    };
  }, []);
  const [path = ""] = at.split("?", 1);
  return path.split("/").filter(Boolean).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
