const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** `1.5 MiB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < SIZES.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[unit]}`;
}

/** `45 s`, `3 min 20 s`, `2 h 5 min`. Negative durations count as none. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
}

/** The date that a table shows, to the minute in UTC; `-` without one. */
export const minuteOf = (date: Date | undefined): string => (date ? date.toISOString().slice(0, 16) : "-");
