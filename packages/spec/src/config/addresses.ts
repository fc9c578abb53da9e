import type { Setting } from "./setting.ts";

/** Where the store is, and where clients find the server. */
export const ADDRESS_SETTINGS = [
  {
    name: "DATABASE_URL",
    form: "postgres:// URL",
    usedBy: "server",
    default: "SQLite in $BOXYARD_DATA/boxyard.db",
    meaning: "PostgreSQL address of the store; of one server at a time, or of several with BOXYARD_REPLICA_ADDRESS.",
  },
  {
    name: "BOXYARD_REPLICA_ADDRESS",
    form: "HOST:PORT",
    usedBy: "server",
    default: "none",
    meaning:
      "Where the other servers on the same DATABASE_URL reach this one: then several of them share the sandboxes of a cluster (docs/several-servers.md).",
  },
  {
    name: "BOXYARD_REPLICA_TLS_NAME",
    form: "HOST",
    usedBy: "server",
    default: "none: requests pass between the servers as plain HTTP",
    meaning:
      "Requests pass between the servers by TLS, to one whose certificate (BOXYARD_TLS_CERT) is for this name; BOXYARD_REPLICA_ADDRESS has the port of BOXYARD_TLS_LISTEN then.",
  },
  {
    name: "BOXYARD_REPLICA_CA",
    form: "path",
    usedBy: "server",
    default: "the authorities that browsers trust",
    meaning: "Authority (PEM) that has signed the certificates of the servers. Read when the server starts.",
  },
  {
    name: "BOXYARD_API_URL",
    form: "URL",
    usedBy: "client",
    default: "address of the running server",
    meaning: "Where clients find the platform API.",
  },
  { name: "BOXYARD_API_KEY", form: "key", usedBy: "client", default: "$BOXYARD_DATA/api-key", meaning: "API key that clients send." },
  {
    name: "BOXYARD_SANDBOX_URL",
    form: "URL",
    usedBy: "client",
    default: "BOXYARD_API_URL",
    meaning: "Where clients reach the agents and ports of sandboxes, when that is not the address of the API.",
  },
  {
    name: "BOXYARD_WEBHOOK_HOSTS",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning:
      "Receivers of webhooks on this machine or in a private network, comma-separated: HOST or HOST:PORT; with http:// before it, without TLS. Others must be public, with TLS.",
  },
  {
    name: "BOXYARD_TRUSTED_PROXIES",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning:
      "Addresses or networks of the proxies before the server, comma-separated: of their requests X-Forwarded-For tells the client's address, which events name.",
  },
] as const satisfies readonly Setting[];
