import { AppError } from "@boxyard/core";
import { errnoOf, PRIVATE_UMASK } from "@boxyard/core/node";
import { printable, readConfig, type ServerConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { baseArchive } from "./base-archive.ts";
import { doctor } from "./doctor.ts";
import { release } from "./release.ts";
import { serve } from "./serve.ts";
import { setup } from "./setup.ts";
import { superviseServer } from "./supervise-server.ts";
import { uninstall } from "./uninstall.ts";

interface Verb {
  /** The arguments, as the usage line shows them. */
  readonly args: string;
  readonly summary: string;
  /** Resolves with the exit code. */
  run(config: ServerConfig, machine: Machine, args: readonly string[]): Promise<number>;
}

const ORPHANS = "[--adopt-orphans | --remove-orphans]";

/** Every verb of the server's program. */
export const VERBS: Readonly<Record<string, Verb>> = {
  serve: { args: ORPHANS, summary: "run the server until SIGTERM or SIGINT", run: serve },
  supervise: { args: ORPHANS, summary: "run the server, and start it again after a crash", run: superviseServer },
  setup: { args: "[--tune]", summary: "set this machine up, and make the first API key", run: setup },
  doctor: { args: "[--json]", summary: "say what this machine can do", run: doctor },
  release: { args: "[--sandboxes]", summary: "release what the machine holds; with --sandboxes end every sandbox first", run: release },
  "base-archive": {
    args: "PATH",
    summary: "build the base template again and write it to PATH as an archive",
    run: async (_config, machine, [path]) => (path === undefined ? refuse() : baseArchive(machine, path)),
  },
  uninstall: { args: "", summary: "end every sandbox and undo what setup did", run: uninstall },
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
    return verb ? await verb.run(config, machine, args) : refuse();
  } catch (error) {
    console.error(`boxyard ${name}: ${error instanceof Error ? error.message : String(error)}`);
    // Errors of the kernel (a full disk, a directory that is not writable) need no stack.
    if (!(error instanceof AppError) && errnoOf(error) === undefined) console.error(error);
    return 1;
  }
}
