import type { Setting } from "./setting.ts";

/** How many sandboxes there may be, for how long, and what happens to those that are lost. */
export const SANDBOX_SETTINGS = [
  {
    name: "BOXYARD_MAX_SANDBOXES",
    form: "number",
    usedBy: "server",
    default: "2000",
    meaning:
      "Sandboxes that may exist at once, paused ones not counted; more creates and resumes get 429, and so does a request that would wake one.",
  },
  {
    name: "BOXYARD_VOLUME_MB",
    form: "MiB",
    usedBy: "server",
    default: "10240",
    meaning: "Size of a volume for which none is asked: the most that its files may take.",
  },
  {
    name: "BOXYARD_RECORDINGS",
    form: "number",
    usedBy: "server",
    default: "100",
    meaning: "Recordings of exchanges by HTTP that a team may have.",
  },
  {
    name: "BOXYARD_RECORDING_MB",
    form: "MiB",
    usedBy: "server",
    default: "256",
    meaning: "Size of a recording: when it has so much, nothing more is kept, and its sandboxes go on.",
  },
  {
    name: "BOXYARD_RECORDING_EXCHANGES",
    form: "number",
    usedBy: "server",
    default: "10000",
    meaning: "Exchanges that a recording may have; each takes some 200 bytes of memory while a sandbox uses it.",
  },
  {
    name: "BOXYARD_WARM_SANDBOXES",
    form: "number",
    usedBy: "server",
    default: "16",
    meaning:
      "Sandboxes that may run before anybody asks for them, so that a create of the same template and size gets one at once (docs/warm-pool.md). There are as many as the last creates needed, and none before the first; they give way to every sandbox that needs their room. 0: none.",
  },
  {
    name: "BOXYARD_WARM_LEAST",
    form: "number",
    usedBy: "server",
    default: "1",
    meaning:
      "How many of each template and size wait at least, within the two limits of the pool, until ten minutes after its last create. More than 1 for bursts on machines that start slowly, such as a cluster's nodes.",
  },
  {
    name: "BOXYARD_WARM_MEMORY",
    form: "size, such as 512M",
    usedBy: "server",
    default: "512M",
    meaning:
      "Memory that these sandboxes may use together; pods count with their whole limits. They also end when less than a sixteenth of the memory for sandboxes is free.",
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
    name: "BOXYARD_ROOM_WAIT_SECONDS",
    form: "seconds",
    usedBy: "server",
    default: "0",
    meaning:
      "How long a create waits until the machine has room for it, before it gets 503 with Retry-After; 25 at most. It keeps its turn meanwhile: creates behind it wait in the queue of all creates, in which the teams take turns.",
  },
  {
    name: "BOXYARD_MAX_TIMEOUT_HOURS",
    form: "hours",
    usedBy: "server",
    default: "24",
    meaning: "Longest lifetime that a create, connect or timeout may ask for.",
  },
  {
    name: "BOXYARD_TEAM_LIMITS",
    form: "NAME=NUMBER, separated by commas",
    usedBy: "server",
    default:
      "sandboxes=2000, cpus=16000, memoryMB=16777216, diskMB=1099511627776, templates=10000, createsPerMinute=60000, builds and timeoutHours as in BOXYARD_MAX_QUEUED_BUILDS and BOXYARD_MAX_TIMEOUT_HOURS",
    meaning:
      "What each team may have, unless `boxyard team limit` sets something else for it: sandboxes at once with their processors and memory (paused ones count for their disk alone), templates, builds queued or at work, creates begun in a minute, hours of a lifetime. A limit that is met is 429 with its name and value.",
  },
  {
    name: "BOXYARD_PROBE_SECONDS",
    form: "seconds",
    usedBy: "server",
    default: "30",
    meaning: "Seconds between two checks of agents without traffic; three without an answer make a sandbox unresponsive. 0: never.",
  },
  {
    name: "BOXYARD_IDLE_CPU_PERCENT",
    form: "percent",
    usedBy: "server",
    default: "5",
    meaning:
      "A sandbox with an idle time counts as used while its processes take more than so many percent of one processor, on an average of five seconds. 100: processors never count for sandboxes that have one.",
  },
  {
    name: "BOXYARD_ON_UNRESPONSIVE",
    form: "none, kill or restart",
    usedBy: "server",
    default: "none",
    meaning: "What happens to an unresponsive sandbox: none (it is shown and logged), kill, or restart (it boots again from its disk).",
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
      "Whether a build of a template with a start command keeps the memory of a sandbox in which the command is ready, and sandboxes start from it. A build turns it off for its template (`--no-start-from-memory`).",
  },
] as const satisfies readonly Setting[];
