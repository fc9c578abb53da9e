import { LIMITS } from "../limits.ts";

/*
 * The Range header (RFC 9110 section 14). Bytes from `start` to `end`, both included.
 */

export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The parts of a file of `size` bytes that the header asks for. `whole`: no range, another unit, too many ranges, ranges that are larger
 * together than the file, or an empty file. `unsatisfiable`: 416, also for ranges that are not well formed.
 */
export function parseRange(header: string | null, size: number): "whole" | "unsatisfiable" | readonly ByteRange[] {
  if (header === null || size === 0) return "whole";
  const [, list] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? [];
  if (list === undefined) return "whole";
  const items = list.split(",").filter((item) => item.trim() !== "");
  if (items.length > LIMITS.ranges) return "whole";
  const ranges: ByteRange[] = [];
  for (const item of items) {
    const range = parseOne(item.trim(), size);
    if (range === "bad") return "unsatisfiable";
    if (range) ranges.push(range);
  }
  if (ranges.length === 0) return "unsatisfiable";
  const sum = ranges.reduce((total, range) => total + range.end - range.start + 1, 0);
  return ranges.length > 1 && sum > size ? "whole" : ranges;
}

/** One range; undefined for one that is well formed and beyond the end. */
function parseOne(text: string, size: number): ByteRange | "bad" | undefined {
  const [, first, last] = /^([0-9]{0,18})\s*-\s*([0-9]{0,18})$/.exec(text) ?? [];
  if (first === undefined || last === undefined || (first === "" && last === "")) return "bad";
  if (first === "") {
    const count = Math.min(Number(last), size);
    return count === 0 ? undefined : { start: size - count, end: size - 1 };
  }
  const start = Number(first);
  if (last !== "" && Number(last) < start) return "bad";
  if (start >= size) return undefined;
  return { start, end: last === "" ? size - 1 : Math.min(Number(last), size - 1) };
}

export function contentRange(range: ByteRange, size: number): string {
  return `bytes ${range.start}-${range.end}/${size}`;
}
