import type { Setting } from "./setting.ts";

/** Where the store is, and where clients find the server. */
export const ADDRESS_SETTINGS = [
  {
    name: "DATABASE_URL",
    form: "postgres:// URL",
    usedBy: "server",
    default: "SQLite in $BOXYARD_DATA/boxyard.db",
    meaning: "PostgreSQL address of the store; of one server at a time.",
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
] as const satisfies readonly Setting[];
