import type { Clock } from "@boxyard/core";
import { LogDestination } from "@boxyard/core/node";
import type { AccessFacts } from "../proxy/api-call.ts";

/** One answered request of the platform API. */
export interface Access extends AccessFacts {
  readonly method: string;
  readonly status: number;
  /** Up to the head of the answer. */
  readonly ms: number;
  /** Where the request came from: of a server behind a proxy, that proxy. */
  readonly address: string;
  readonly requestId: string;
}

export interface AccessLogOptions {
  /** Path of the file, which is made when it is missing. */
  readonly file: string;
  /** Size in bytes at which the file is rotated. */
  readonly maxBytes: number;
  /** How many older files are kept. */
  readonly keep: number;
}

/**
 * One line of JSON for each request of the platform API: who called which route, from where, and what the answer was. Paths, queries, headers and bodies are
 * not in it, so neither is any key or token.
 */
export class AccessLog {
  private readonly destination: LogDestination;
  private readonly clock: Clock;

  constructor({ file, maxBytes, keep }: AccessLogOptions, clock: Clock) {
    this.destination = new LogDestination({ file, rotation: { path: file, maxBytes, keep } });
    this.clock = clock;
  }

  write({ method, route, status, ms, team, key, by, address, requestId }: Access): void {
    const time = new Date(this.clock.now()).toISOString();
    this.destination.write(`${JSON.stringify({ time, method, route, status, ms, team, by, key, address, requestId })}\n`);
  }
}
