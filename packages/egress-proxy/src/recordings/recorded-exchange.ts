import type { ClientConnection, Exchange, RequestHead } from "@boxyard/http1";
import { HttpRelay } from "../http-relay.ts";
import type { Route } from "../route.ts";
import type { Rules } from "../rules.ts";
import { ExchangeRecorder } from "./exchange-recorder.ts";
import type { Origin } from "./kept-request.ts";
import type { Recordings } from "./recordings.ts";
import { ReplayExchange } from "./replay-exchange.ts";

export interface RecordedParts {
  readonly rules: Rules;
  readonly recordings: Recordings;
}

/** A request of a sandbox, and how it gets to its server; without a route the sandbox may not reach that server. */
export interface Asked {
  readonly address: string;
  readonly origin: Origin;
  readonly route: Route | undefined;
}

/** The answer to a request: of its server, which a recording may keep; or of a recording. Undefined: it may not be answered. */
export function answerTo(
  { rules, recordings }: RecordedParts,
  { address, origin, route }: Asked,
  request: RequestHead,
  client: ClientConnection,
): Exchange | undefined {
  const user = recordings.find(address);
  const relayed = (by: Route) => new HttpRelay(rules, address, by, request, client);
  if (!user) return route && relayed(route);
  const forms = rules.secretForms(address);
  const { recording, use } = user;
  if (use.mode === "replay") {
    const pass = use.passes && route ? (onOver: () => void) => relayed({ ...route, onOver }) : undefined;
    return new ReplayExchange({ recordings, user, address, origin, forms, pass }, request, client);
  }
  if (!route) return undefined;
  const { writer } = recording;
  if (writer) return relayed({ ...route, tap: new ExchangeRecorder(recording, writer, origin, request, forms) });
  recording.missed();
  return relayed(route);
}
