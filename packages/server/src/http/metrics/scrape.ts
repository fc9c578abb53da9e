import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../../config.ts";
import type { Credentials } from "../../keys/credentials.ts";
import type { Instruments } from "../../prometheus/instruments.ts";

interface ScrapeServices {
  readonly config: Pick<ServerConfig, "metrics">;
  readonly credentials: Credentials;
  readonly instruments: Instruments;
}

/**
 * `GET /metrics`: the counts and times of the whole server, in the text format of Prometheus. By `BOXYARD_METRICS` for the operator's API keys
 * (`X-API-Key`, or `Authorization: Bearer` as Prometheus sends it), for everybody, or for nobody. Throws `unauthenticated`, `permission_denied`, `not_found`.
 */
export async function scrape(request: Request, { config, credentials, instruments }: ScrapeServices): Promise<Response> {
  if (config.metrics === "off") {
    throw new AppError("not_found", "Metrics are off: BOXYARD_METRICS=key serves them to the operator's API keys", {
      reason: "no_such_route",
    });
  }
  if (config.metrics === "key") {
    const bearer = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1];
    const caller = await credentials.authenticate(request.headers.get("x-api-key") ?? bearer);
    if (!credentials.isOperator(caller)) {
      const message = "The metrics of the server are for keys with the scope admin of the team default";
      throw new AppError("permission_denied", message, { reason: "not_operator" });
    }
  }
  const { registry } = instruments;
  return new Response(await registry.metrics(), { headers: { "Content-Type": registry.contentType, "Cache-Control": "no-store" } });
}
