import type { Clock } from "@boxyard/core";
import { type Exchange, exchangeTcp, exchangeUdp } from "./exchange.ts";
import { isAnswerTo, isTruncated, makeError, makeReply, makeUpstreamQuery, type Query, RCODE, rcodeOf } from "./wire.ts";

/** How long one server may take to answer, in the first and in the second round. */
const ROUND_MS = [1500, 3000] as const;
/** Below the 5 s after which the C library asks again, so that a client always gets our answer first. */
const TOTAL_MS = 4500;

export interface ResolverOptions {
  /** The machine's name servers; called anew for each round of each question. */
  readonly servers: () => readonly string[];
  readonly clock: Clock;
  /** Port of the name servers; 53. */
  readonly port?: number;
  readonly exchange?: { udp: typeof exchangeUdp; tcp: typeof exchangeTcp };
}

/** Puts a sandbox's questions to the machine's name servers. */
export class Resolver {
  private readonly options: ResolverOptions;
  private readonly exchange: { udp: typeof exchangeUdp; tcp: typeof exchangeTcp };

  constructor(options: ResolverOptions) {
    this.options = options;
    this.exchange = options.exchange ?? { udp: exchangeUdp, tcp: exchangeTcp };
  }

  /**
   * The reply for the client: an answer, or SERVFAIL when no server gave one within 4.5 s. Servers are tried in order, twice. After an answer
   * SERVFAIL, REFUSED or NOTIMP the next server is tried; the first such answer is returned when no server gives a better one.
   */
  async resolve(query: Query, overUdp: boolean, signal: AbortSignal): Promise<Uint8Array> {
    const deadline = this.options.clock.monotonic() + TOTAL_MS;
    let poorAnswer: Uint8Array | undefined;
    for (const roundMs of ROUND_MS) {
      const asked = [...this.options.servers()];
      for (const server of asked) {
        const timeoutMs = Math.min(roundMs, deadline - this.options.clock.monotonic());
        if (timeoutMs <= 0 || signal.aborted) break;
        const answer = await this.ask(query, server, overUdp, timeoutMs, signal);
        if (!answer) continue;
        const rcode = rcodeOf(answer);
        if (rcode !== RCODE.SERVFAIL && rcode !== RCODE.REFUSED && rcode !== RCODE.NOTIMP) return makeReply(query, answer, overUdp);
        poorAnswer ??= answer;
      }
      // A server has answered that it cannot, and no other knows: a second round would not change that.
      if (poorAnswer) return makeReply(query, poorAnswer, overUdp);
    }
    return makeError(query, RCODE.SERVFAIL);
  }

  private async ask(
    query: Query,
    server: string,
    overUdp: boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    const id = crypto.getRandomValues(new Uint16Array(1))[0] as number;
    const exchange: Exchange = {
      server,
      port: this.options.port ?? 53,
      query: makeUpstreamQuery(query, id),
      accept: (bytes) => isAnswerTo(bytes, id, query.question),
      timeoutMs,
      signal,
    };
    if (overUdp) return this.exchange.udp(exchange);
    // The client uses TCP because our answer was too long for UDP, or by its own choice. Small resolvers may not support TCP.
    const answer = await this.exchange.tcp(exchange);
    if (answer) return answer;
    const second = await this.exchange.udp(exchange);
    return second && !isTruncated(second) ? second : undefined;
  }
}
