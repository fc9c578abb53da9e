/** Whole blocks of every file system, so that joining shares them instead of copying. */
const STEP_BYTES = 64 << 10;
const FIRST_BYTES = 2 * STEP_BYTES;
const MOST_BYTES = 8 << 20;
/** How long a part should take: short, so that progress moves and a failed connection costs little. */
const AIM_MS = 1000;
/** A file is joined from at most 10,000 parts. Known sizes are cut into fewer; of others the smallest part doubles after each so many. */
const MOST_PARTS = 8000;
const COUNT_STEP = 1250;

/** How large the parts of an upload are, by how long earlier ones took: the link's speed is known only by using it. */
export class PartSize {
  private wanted = FIRST_BYTES;
  private count = 0;
  private readonly least: number;

  /** @param totalBytes - Of all parts together; undefined when it is not known. */
  constructor(totalBytes: number | undefined) {
    this.least = totalBytes === undefined ? STEP_BYTES : Math.max(STEP_BYTES, inSteps(totalBytes / MOST_PARTS));
  }

  /** Size of the next part, which then counts as handed out. */
  next(): number {
    const least = this.least * 2 ** Math.floor(this.count++ / COUNT_STEP);
    return Math.min(MOST_BYTES, Math.max(least, inSteps(this.wanted)));
  }

  /** Records how long a part took. */
  took(bytes: number, ms: number): void {
    this.wanted = Math.min(MOST_BYTES, (bytes * AIM_MS) / Math.max(ms, 1));
  }
}

const inSteps = (bytes: number) => Math.floor(bytes / STEP_BYTES) * STEP_BYTES;
