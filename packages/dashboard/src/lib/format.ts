const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** `1.5 MiB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 1 : 0)} ${UNITS[unit]}`;
}

export const megabytes = (count: number): string => bytes(count * 2 ** 20);

/** `3 h 20 min`, `45 s`; a negative duration counts as 0. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${minutes < 10 && seconds % 60 ? ` ${seconds % 60} s` : ""}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
  return `${Math.floor(hours / 24)} days`;
}

/** `4.2 ms`, `120 ms`, `1.5 s`. */
export function milliseconds(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const SHORT = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A time in the zone of the person who reads it. Text that is no time stays as it is. */
const format = (how: Intl.DateTimeFormat) => (time: string | number | Date) => {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : how.format(date);
};

export const fullTime = format(FULL);
export const shortTime = format(SHORT);
export const clockTime = format(CLOCK);

/** One word for one, another for more: `1 file`, `2 files`. */
export const counted = (count: number, one: string, more = `${one}s`): string => `${count.toLocaleString()} ${count === 1 ? one : more}`;
