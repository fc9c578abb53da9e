/** Version of this package; sent in the header `User-Agent` where the runtime allows it. */
export const SDK_VERSION = "0.1.0";

/** True when `version` (of an agent) is at least `minimum`. A text that is no version counts as the newest. */
export function atLeast(version: string, minimum: string): boolean {
  const have = parse(version);
  const want = parse(minimum);
  if (!have || !want) return true;
  for (let i = 0; i < 3; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function parse(version: string): number[] | undefined {
  const match = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version);
  return match ? match.slice(1).map(Number) : undefined;
}
