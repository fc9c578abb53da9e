/** Request header that asks for a trace. Every client with access may ask. */
const TRACE_HEADER = "boxyard-trace";
/** Name of the trace in the metadata of the stream's end; its value is JSON. */
const TRACE_TRAILER = "boxyard-trace";

/** A point that a call reached: wall time in milliseconds since 1970, with fractions, and the CPU time of the agent in milliseconds. */
interface Mark {
  readonly name: string;
  readonly at: number;
  readonly cpuMs: number;
}

/** The points that a call reached, with their times; made only for calls that ask for it (`boxyard bench --trace`). */
export class CallTrace {
  private readonly marks: Mark[] = [];

  mark(name: string): void {
    const { user, system } = process.cpuUsage();
    this.marks.push({ name, at: performance.timeOrigin + performance.now(), cpuMs: (user + system) / 1000 });
  }

  /** Marks a point that is reached repeatedly, the first time only. */
  markOnce(name: string): void {
    if (!this.marks.some((mark) => mark.name === name)) this.mark(name);
  }

  /** As metadata of the end of a stream. */
  trailer(): Readonly<Record<string, readonly string[]>> {
    this.mark("told");
    return { [TRACE_TRAILER]: [JSON.stringify(this.marks)] };
  }
}

/** A trace that begins now, if the request asks for one. */
export function traceOf(headers: Headers): CallTrace | undefined {
  if (!headers.has(TRACE_HEADER)) return undefined;
  const trace = new CallTrace();
  trace.mark("received");
  return trace;
}
