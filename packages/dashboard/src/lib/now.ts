import { useEffect, useState } from "preact/hooks";

/** The present time, in milliseconds since 1970; the component is shown anew every `everyMs`. */
export function useNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}
