import type { Setting } from "./setting.ts";

/** Where the server is, and what it takes of its machine. */
export const MACHINE_SETTINGS = [
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
    name: "BOXYARD_TLS_CERT",
    form: "path",
    usedBy: "server",
    default: "none: the server speaks plain HTTP alone",
    meaning:
      "Certificate (PEM, with those between it and its authority) with which the server listens for TLS at BOXYARD_TLS_LISTEN too. Read again when it changes.",
  },
  {
    name: "BOXYARD_TLS_KEY",
    form: "path",
    usedBy: "server",
    default: "none",
    meaning: "Private key (PEM) of BOXYARD_TLS_CERT.",
  },
  {
    name: "BOXYARD_TLS_LISTEN",
    form: "ADDRESS:PORT",
    usedBy: "server",
    default: "0.0.0.0:443",
    meaning: "Where the server listens for TLS, when it has a certificate; port 0 takes any free one.",
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
      "A client or a sandbox that answers no packet for so long counts as gone, and work for it ends. A peer that answers but does not read is waited for.",
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
    name: "BOXYARD_POOL_AHEAD",
    form: "size",
    usedBy: "server",
    default: "half of BOXYARD_RESERVE_DISK, 768M to 1G",
    meaning:
      "Disk space that the pool's file takes before the pool needs it, so that nothing is lost when other programs fill that disk; 0: none.",
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
    meaning: "Free space of the disk that holds the pool's file, with the same effect.",
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
    meaning: "How often all sandboxes' disk limits together may exceed the pool's size.",
  },
  {
    name: "BOXYARD_WAKE_CACHE_MEMORY",
    form: "size, such as 2G",
    usedBy: "server",
    default: "a quarter of what sandboxes may have",
    meaning:
      "Memory that paused sandboxes may hold for a quick wake; released when other sandboxes need it, or the machine has little left. 0: none is kept.",
  },
  {
    name: "BOXYARD_WAKE_CACHE_SECONDS",
    form: "number, at most 300",
    usedBy: "server",
    default: "60",
    meaning: "How long after its pause a sandbox may hold memory for that; 0: not at all.",
  },
  {
    name: "BOXYARD_WAKE_CACHE_TRIALS",
    form: "number, at most 16",
    usedBy: "server",
    default: "1",
    meaning:
      "How many paused sandboxes at once have their image restored for a trial, after half of that time, before their processes end. When a trial fails, the processes stay in memory until the sandbox is resumed, and the log and `boxyard doctor` say so. 0: no image is tried.",
  },
  {
    name: "BOXYARD_DISK_BANDWIDTH",
    form: "size, such as 100M",
    usedBy: "server",
    default: "no bound",
    meaning:
      "Bytes a second that each sandbox may read from the pool's disk, and that it may write. With cgroup v1 the limit holds only for reads and direct I/O, because the kernel itself writes cached data. `boxyard doctor` shows what this kernel can do.",
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
] as const satisfies readonly Setting[];
