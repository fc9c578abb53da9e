import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "@boxyard/core";
import type { PortLinkState, SandboxRecord } from "../store/index.ts";

/** Ports of one sandbox whose links were withdrawn and that are noted one by one. */
const MAX_NOTED = 64;
const NOTHING_WITHDRAWN: PortLinkState = { all: 0, ports: {} };

/** Tokens of links: each lets its holder into one private port of one sandbox until a time. `<seconds since 1970, base 36>.<signature>`; not stored. */
export class PortLinks {
  private readonly seed: string;
  private readonly clock: Pick<Clock, "now">;

  constructor(seed: string, clock: Pick<Clock, "now">) {
    this.seed = seed;
    this.clock = clock;
  }

  /** `expiresAt`: seconds since 1970. */
  make(record: LinkedRecord, port: number, expiresAt: number): string {
    return `${expiresAt.toString(36)}.${this.sign(record, port, expiresAt)}`;
  }

  /** Seconds for which the token is still good for this port; undefined when it is not: of another port, over, or withdrawn. */
  secondsLeft(record: LinkedRecord, port: number, token: string): number | undefined {
    const [, time = "", signature = ""] = /^([0-9a-z]{1,9})\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
    if (time === "") return undefined;
    const expiresAt = Number.parseInt(time, 36);
    const wanted = Buffer.from(this.sign(record, port, expiresAt));
    if (!timingSafeEqual(wanted, Buffer.from(signature))) return undefined;
    const left = expiresAt - this.clock.now() / 1000;
    return left > 0 ? Math.ceil(left) : undefined;
  }

  private sign({ id, settings }: LinkedRecord, port: number, expiresAt: number): string {
    const { all, ports } = settings.portLinks ?? NOTHING_WITHDRAWN;
    return createHmac("sha256", this.seed)
      .update(`port-link:${id}:${port}:${all}:${ports[port] ?? 0}:${expiresAt}`)
      .digest("base64url");
  }
}

type LinkedRecord = Pick<SandboxRecord, "id" | "settings">;

/** The state in which no link of this port that was made before is good. */
export function withdrawn(state: PortLinkState = NOTHING_WITHDRAWN, port: number): PortLinkState {
  const { all, ports } = state;
  // So that the record stays small: the links of the other ports go too.
  if (ports[port] === undefined && Object.keys(ports).length >= MAX_NOTED) return { all: all + 1, ports: {} };
  return { all, ports: { ...ports, [port]: (ports[port] ?? 0) + 1 } };
}
