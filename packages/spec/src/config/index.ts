/** One setting. All of them come from environment variables, which are read only in `config.ts` files. */
export interface Setting {
  readonly name: string;
  /** What a value looks like, with its unit. */
  readonly form: string;
  readonly usedBy: "server" | "client" | "both";
  /** What holds when the variable is unset or empty; in words where it is worked out. */
  readonly default: string;
  readonly meaning: string;
}

/** Every setting of the platform; `docs/configuration.md` is made from this table. */
export const SETTINGS = [
  {
    name: "BOXYARD_DATA",
    form: "path",
    usedBy: "both",
    default: "/var/lib/boxyard",
    meaning: "Directory that holds everything of one server.",
  },
  {
    name: "BOXYARD_CACHE",
    form: "path",
    usedBy: "server",
    default: "$BOXYARD_DATA/cache",
    meaning: "Directory of built trees; several data directories may share it.",
  },
  {
    name: "BOXYARD_LISTEN",
    form: "ADDRESS:PORT",
    usedBy: "both",
    default: "127.0.0.1:3000",
    meaning: "Address and port of the one HTTP port; port 0 takes any free one.",
  },
  {
    name: "BOXYARD_DOMAIN",
    form: "HOST[:PORT]",
    usedBy: "server",
    default: "none",
    meaning: "Domain under which <port>-<id>.<domain> reaches sandboxes; answered as `domain` when set.",
  },
  {
    name: "BOXYARD_PUBLIC_URL",
    form: "URL",
    usedBy: "server",
    default: "http:// and the Host that a client names; https:// when X-Forwarded-Proto says so",
    meaning: "Address under which clients reach the server, such as https://boxyard.example: what upload links of builds begin with.",
  },
  {
    name: "BOXYARD_PEER_TIMEOUT_SECONDS",
    form: "seconds",
    usedBy: "server",
    default: "60",
    meaning:
      "A client or a sandbox that answers no packet for so long is gone: what works for it ends. One that only does not read is waited for.",
  },
  {
    name: "BOXYARD_NETWORK",
    form: "A.B.C.D/PREFIX",
    usedBy: "server",
    default: "a free /16 of 10.208 to 10.223",
    meaning: "Address range of the sandboxes.",
  },
  {
    name: "BOXYARD_POOL_SIZE",
    form: "size, such as 100G",
    usedBy: "server",
    default: "by free disk space",
    meaning: "Size of the storage pool.",
  },
  {
    name: "BOXYARD_RESERVE_MEMORY",
    form: "size, such as 2G",
    usedBy: "server",
    default: "512M and a sixteenth of the machine's",
    meaning: "Memory that sandboxes leave to the machine; all of them together have the rest.",
  },
  {
    name: "BOXYARD_RESERVE_PROCESSES",
    form: "number",
    usedBy: "server",
    default: "an eighth of what the kernel allows, at least 1024",
    meaning: "Processes and threads that sandboxes leave to the machine.",
  },
  {
    name: "BOXYARD_RESERVE_POOL",
    form: "size",
    usedBy: "server",
    default: "a twentieth of the pool, 512M to 8G",
    meaning: "Free space of the pool below which sandboxes and builds can write no more, and none is created.",
  },
  {
    name: "BOXYARD_RESERVE_DISK",
    form: "size",
    usedBy: "server",
    default: "a fiftieth of the disk, 512M to 8G",
    meaning: "The same of the disk that holds the pool's file.",
  },
  {
    name: "BOXYARD_MEMORY_OVERCOMMIT",
    form: "factor",
    usedBy: "server",
    default: "64",
    meaning: "How often all sandboxes' limits together may exceed the memory there is; 1: every sandbox can use its limit at any time.",
  },
  {
    name: "BOXYARD_DISK_OVERCOMMIT",
    form: "factor",
    usedBy: "server",
    default: "256",
    meaning: "The same of the pool.",
  },
  {
    name: "BOXYARD_WAKE_CACHE_MEMORY",
    form: "size, such as 2G",
    usedBy: "server",
    default: "a quarter of what sandboxes may have",
    meaning:
      "Memory that paused sandboxes may hold for a quick wake; given back when others want it, or the machine has little left. 0: none is kept.",
  },
  {
    name: "BOXYARD_WAKE_CACHE_SECONDS",
    form: "number, at most 300",
    usedBy: "server",
    default: "60",
    meaning: "How long after its pause a sandbox may hold memory for that; 0: not at all.",
  },
  {
    name: "BOXYARD_DISK_BANDWIDTH",
    form: "size, such as 100M",
    usedBy: "server",
    default: "no bound",
    meaning:
      "Bytes a second that each sandbox may read from the pool's disk, and that it may write. With cgroup v1 only direct I/O and reads are held to it: others write what was cached. `doctor` says what this kernel can.",
  },
  {
    name: "BOXYARD_MAX_OPEN_FILES",
    form: "number",
    usedBy: "server",
    default: "16384",
    meaning: "Files that one process of a sandbox may have open, if the machine lets the server have as many; it begins with 1024.",
  },
  {
    name: "BOXYARD_RUNTIME",
    form: "crun or runc",
    usedBy: "server",
    default: "the first that works",
    meaning: "What makes the sandboxes: crun or runc.",
  },
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
    meaning:
      "Size at which `server.log`, the log of a server in the background, is put aside as `server.log.1`. Other logs are their reader's.",
  },
  {
    name: "BOXYARD_LOG_FILES",
    form: "number",
    usedBy: "server",
    default: "5",
    meaning: "Files of that log, `server.log` and older ones; the oldest is removed.",
  },
  {
    name: "BOXYARD_MAX_SANDBOXES",
    form: "number",
    usedBy: "server",
    default: "2000",
    meaning: "Sandboxes that may exist at once; more creates get 429.",
  },
  {
    name: "BOXYARD_MAX_CREATES",
    form: "number",
    usedBy: "server",
    default: "twice the number of cores, at least 4",
    meaning: "Creates worked on at once; others queue.",
  },
  {
    name: "BOXYARD_MAX_QUEUED_CREATES",
    form: "number",
    usedBy: "server",
    default: "1000",
    meaning: "Creates that may wait; more get 429.",
  },
  {
    name: "BOXYARD_MAX_TIMEOUT_HOURS",
    form: "hours",
    usedBy: "server",
    default: "24",
    meaning: "Longest lifetime that a create, connect or timeout may ask for.",
  },
  {
    name: "BOXYARD_PROBE_SECONDS",
    form: "seconds",
    usedBy: "server",
    default: "30",
    meaning: "Seconds between two looks at agents without traffic; three without an answer make a sandbox unresponsive. 0: never.",
  },
  {
    name: "BOXYARD_ON_UNRESPONSIVE",
    form: "none, kill or restart",
    usedBy: "server",
    default: "none",
    meaning: "What happens to an unresponsive sandbox: none (it is shown and logged), kill, or restart (it boots anew from its disk).",
  },
  {
    name: "BOXYARD_ORPHAN_MINUTES",
    form: "minutes",
    usedBy: "server",
    default: "60",
    meaning: "How long sandboxes that the store does not know are kept, frozen and listed by `boxyard doctor`, before they are removed.",
  },
  {
    name: "BOXYARD_START_FROM_MEMORY",
    form: "on | off",
    usedBy: "server",
    default: "on",
    meaning:
      "Whether a build of a template with a start command keeps the memory of a sandbox in which that is ready, and sandboxes start from it. A build turns it off for its template (`--no-start-from-memory`).",
  },
  {
    name: "BOXYARD_MAX_BUILDS",
    form: "number",
    usedBy: "server",
    default: "number of cores, at least 2",
    meaning: "Template builds at work at once; others queue.",
  },
  {
    name: "BOXYARD_MAX_QUEUED_BUILDS",
    form: "number",
    usedBy: "server",
    default: "20",
    meaning: "Template builds that one team may have queued or at work; more get 429.",
  },
  {
    name: "BOXYARD_MAX_BUILD_CACHE_MIB",
    form: "MiB",
    usedBy: "server",
    default: "20480",
    meaning: "What layers that only the cache of build steps needs may take, in MiB; what was used longest ago goes first.",
  },
  {
    name: "BOXYARD_MAX_BUILD_FILES_MIB",
    form: "MiB",
    usedBy: "server",
    default: "65536",
    meaning: "Files that one team has uploaded for builds, in MiB. What was not used for an hour makes room for more; beyond that, 507.",
  },
  {
    name: "BOXYARD_REGISTRY",
    form: "HOST[:PORT][/PATH]",
    usedBy: "server",
    default: "docker.io/library",
    meaning:
      "HOST[:PORT][/PATH]/library: mirror of Docker Hub, where builds look for images whose names have no registry (python:3.12) or name docker.io.",
  },
  {
    name: "BOXYARD_PRIVATE_REGISTRIES",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning:
      "Registries on this machine or in a private network that builds may use, comma-separated: HOST or HOST:PORT; with http:// before it, without TLS. Others must be public, with TLS.",
  },
  {
    name: "BOXYARD_TOKEN_SERVERS",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning: "REGISTRY=HOST pairs, comma-separated: hosts of another site that may give tokens for a registry.",
  },
  {
    name: "BOXYARD_BUILD_SETTINGS",
    form: "machine or none",
    usedBy: "server",
    default: "machine",
    meaning: "machine: template builds take along this machine's package settings and proxies; none: they don't.",
  },
  {
    name: "BOXYARD_AUTHORITIES",
    form: "machine, none or a path",
    usedBy: "server",
    default: "machine",
    meaning:
      "machine: builds and running sandboxes trust the certificate authorities that were added to this machine, as behind an inspecting proxy; /PATH: those of a PEM file or of a directory with such; none: only their image's own.",
  },
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

export type SettingName = (typeof SETTINGS)[number]["name"];
