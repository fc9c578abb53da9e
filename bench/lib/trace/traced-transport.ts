import type { DescMessage, DescMethodStreaming, MessageInitShape } from "@bufbuild/protobuf";
import type { ContextValues, StreamResponse, Transport } from "@connectrpc/connect";
import type { AgentMark } from "./steps.ts";

const NAME = "boxyard-trace";

/** A transport that asks the agent for a trace of every stream, and keeps the last one. */
export class TracedTransport implements Transport {
  readonly unary: Transport["unary"];
  private readonly inner: Transport;
  private last = Promise.withResolvers<AgentMark[]>();

  constructor(inner: Transport) {
    this.inner = inner;
    this.unary = inner.unary.bind(inner);
  }

  /** What the agent noted of the stream that was opened last; resolves when that has ended. */
  marks(): Promise<AgentMark[]> {
    return this.last.promise;
  }

  async stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodStreaming<I, O>,
    signal: AbortSignal | undefined,
    timeoutMs: number | undefined,
    header: HeadersInit | undefined,
    input: AsyncIterable<MessageInitShape<I>>,
    context?: ContextValues,
  ): Promise<StreamResponse<I, O>> {
    const headers = new Headers(header);
    headers.set(NAME, "1");
    const last = Promise.withResolvers<AgentMark[]>();
    // A rejection that no caller awaits must not end the bench.
    last.promise.catch(() => {});
    this.last = last;
    const response = await this.inner.stream(method, signal, timeoutMs, headers, input, context);
    return { ...response, message: watched(response, last) };
  }
}

async function* watched<I extends DescMessage, O extends DescMessage>(
  response: StreamResponse<I, O>,
  { resolve, reject }: PromiseWithResolvers<AgentMark[]>,
): StreamResponse<I, O>["message"] {
  try {
    yield* response.message;
    const text = response.trailer.get(NAME);
    if (text === null) reject(new Error("the agent gave no trace"));
    else resolve(JSON.parse(text) as AgentMark[]);
  } catch (error) {
    reject(error);
    throw error;
  }
}
