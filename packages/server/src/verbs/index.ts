import { AppError } from "@boxyard/core";
import { errnoOf, PRIVATE_UMASK } from "@boxyard/core/node";
import { readConfig, type ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { printable } from "../shown-config.ts";

type Run = (config: ServerConfig, machine: Machine, args: readonly string[]) => Promise<number>;

interface Verb {
  /** The arguments, as the usage line shows them. */
  readonly args: string;
  readonly summary: string;
  /** Loads the verb's modules. The verb resolves with the exit code. */
  load(): Promise<Run>;
}

const ORPHANS = "[--adopt-orphans | --remove-orphans]";

/** Every verb of the server's program. Each loads its own modules only: the supervisor, which stays as long as its server, has none of the server's. */
export const VERBS: Readonly<Record<string, Verb>> = {
  serve: { args: ORPHANS, summary: "run the server until SIGTERM or SIGINT", load: async () => (await import("./serve.ts")).serve },
  supervise: {
    args: ORPHANS,
    summary: "run the server, and start it again after a crash",
    load: async () => (await import("./supervise-server.ts")).superviseServer,
  },
  setup: {
    args: "[--tune]",
    summary: "set this machine up, and make the first API key",
    load: async () => (await import("./setup.ts")).setup,
  },
  doctor: { args: "[--json]", summary: "say what this machine can do", load: async () => (await import("./doctor.ts")).doctor },
  release: {
    args: "[--sandboxes]",
    summary: "release what the machine holds; with --sandboxes end every sandbox first",
    load: async () => (await import("./release.ts")).release,
  },
  "base-archive": {
    args: "PATH",
    summary: "build the base template again and write it to PATH as an archive",
    load: async () => {
      const { baseArchive } = await import("./base-archive.ts");
      return async (_config, machine, [path]) => (path === undefined ? refuse() : baseArchive(machine, path));
    },
  },
  "rotate-store": {
    args: "",
    summary: "replace the key of the store, while no server runs",
    load: async () => (await import("./rotate-store.ts")).rotateStore,
  },
  uninstall: {
    args: "",
    summary: "end every sandbox and undo what setup did",
    load: async () => (await import("./uninstall.ts")).uninstall,
  },
};

const ANYWHERE = `  ${"--print-config".padEnd(48)}show the settings as JSON, and do nothing
  ${"-h, --help".padEnd(48)}show help, and do nothing`;

/** The usage of one verb, or of all. */
function usage(names: readonly string[]): string {
  const lines = names.map((name) => `  ${`${name} ${VERBS[name]?.args}`.padEnd(48)}${VERBS[name]?.summary}`);
  return `Usage: main.ts VERB [options]\n\n${lines.join("\n")}\n\nWith every verb:\n${ANYWHERE}`;
}

/** Prints the usage as an error; the exit code of a wrong command line. */
function refuse(): number {
  console.error(usage(Object.keys(VERBS)));
  return 2;
}

/** Runs the verb of the command line and returns the exit code. */
export async function run(argv: readonly string[], machine: Machine): Promise<number> {
  const [name = "", ...args] = argv;
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (argv.some((arg) => arg === "--help" || arg === "-h")) {
    console.log(usage(verb ? [name] : Object.keys(VERBS)));
    return 0;
  }
  // Before anything is written: only root may read keys, the store and logs.
  process.umask(PRIVATE_UMASK);
  try {
    const config = readConfig();
    if (argv.includes("--print-config")) {
      console.log(JSON.stringify(printable(config), null, 2));
      return 0;
    }
    if (!verb) return refuse();
    const runVerb = await verb.load();
    return await runVerb(config, machine, args);
  } catch (error) {
    console.error(`boxyard ${name}: ${error instanceof Error ? error.message : String(error)}`);
    // Errors of the kernel (a full disk, a directory that is not writable) need no stack.
    if (!(error instanceof AppError) && errnoOf(error) === undefined) console.error(error);
    return 1;
  }
}
