/** Asks for a trace of a call. A client that may call may know how long the parts of the call take. */
const TRACE_HEADER = "boxyard-trace";
/** Under this name the trace comes with the end of the stream, as JSON. */
const TRACE_TRAILER = "boxyard-trace";

/** What was reached: wall time in milliseconds since 1970, with fractions, and the agent's CPU milliseconds so far. */
interface Mark {
  readonly name: string;
  readonly at: number;
  readonly cpuMs: number;
}

/** When a call got how far; made only for calls that ask for it (`boxyard bench --trace`). */
export class CallTrace {
  private readonly marks: Mark[] = [];

  mark(name: string): void {
    const { user, system } = process.cpuUsage();
    this.marks.push({ name, at: performance.timeOrigin + performance.now(), cpuMs: (user + system) / 1000 });
  }

  /** The first time of many. */
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
