import type { Setting } from "./setting.ts";

/** What the server's log holds, how much of it is kept, and who may read what the server counts. */
export const LOG_SETTINGS = [
  {
    name: "BOXYARD_LOG_LEVEL",
    form: "word",
    usedBy: "server",
    default: "info",
    meaning: "trace (every step of a create, with its CPU), debug, info, warn, error or silent.",
  },
  {
    name: "BOXYARD_LOG_FORMAT",
    form: "auto, text or json",
    usedBy: "server",
    default: "auto",
    meaning: "Lines of the server's log: text for people, or JSON. auto is text on a terminal and JSON elsewhere, as in server.log.",
  },
  {
    name: "BOXYARD_LOG_MAX_MIB",
    form: "MiB",
    usedBy: "server",
    default: "10",
    meaning: "Size at which `server.log`, the log of a server in the background, is renamed to `server.log.1`. Other logs are not rotated.",
  },
  {
    name: "BOXYARD_LOG_FILES",
    form: "number",
    usedBy: "server",
    default: "5",
    meaning: "Number of files of that log, `server.log` and older ones; the oldest is removed.",
  },
  {
    name: "BOXYARD_ACCESS_LOG",
    form: "path or off",
    usedBy: "server",
    default: "off",
    meaning:
      "File of the access log: one line of JSON for each request of the platform API, with method, route, status, milliseconds, team, id of the key and address. It is rotated as `server.log` is.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_ENDPOINT",
    form: "URL",
    usedBy: "server",
    default: "none",
    meaning:
      "Collector of OpenTelemetry traces, such as http://localhost:4318: a span for each request of the platform API, for the changes of sandboxes that it makes and for their steps go to /v1/traces there (OTLP over HTTP, JSON). Spans that it does not take are dropped.",
  },
  {
    name: "OTEL_EXPORTER_OTLP_HEADERS",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning: "NAME=VALUE pairs, comma-separated: headers of requests to the collector, such as its key. Values may be percent-encoded.",
  },
  {
    name: "BOXYARD_METRICS",
    form: "key, open or off",
    usedBy: "server",
    default: "key",
    meaning:
      "Who may read `GET /metrics`, the server's counts for Prometheus: holders of an API key of the operator (scope `admin`, team `default`; `X-API-Key` or `Authorization: Bearer`), everybody who reaches the server, or nobody.",
  },
] as const satisfies readonly Setting[];
