import { AppError } from "@boxyard/core";
import { errnoOf, PRIVATE_UMASK } from "@boxyard/core/node";
import { printable, readConfig } from "../config.ts";
import type { Machine } from "../machine.ts";
import { baseArchive } from "./base-archive.ts";
import { doctor } from "./doctor.ts";
import { release } from "./release.ts";
import { serve } from "./serve.ts";
import { setup } from "./setup.ts";
import { superviseServer } from "./supervise-server.ts";
import { uninstall } from "./uninstall.ts";

const USAGE =
  "usage: main.ts serve [--adopt-orphans | --remove-orphans] | supervise [as serve] | setup | doctor [--json] | release [--sandboxes] | base-archive PATH | uninstall; --print-config shows the settings";

/** Does what the command line asks for and returns the exit code. */
export async function run(argv: readonly string[], machine: Machine): Promise<number> {
  const [verb, ...args] = argv;
  // Before anything is written: keys, the store and logs are root's alone.
  process.umask(PRIVATE_UMASK);
  try {
    const config = readConfig();
    if (argv.includes("--print-config")) {
      console.log(JSON.stringify(printable(config), null, 2));
      return 0;
    }
    switch (verb) {
      case "serve":
        return await serve(config, machine, args);
      case "supervise":
        return await superviseServer(config, machine, args);
      case "setup":
        return await setup(config, machine, args);
      case "doctor":
        return await doctor(config, machine, args);
      case "release":
        return await release(config, machine, args);
      case "base-archive":
        if (args[0] !== undefined) return await baseArchive(machine, args[0]);
        console.error(USAGE);
        return 2;
      case "uninstall":
        return await uninstall(config, machine);
      default:
        console.error(USAGE);
        return 2;
    }
  } catch (error) {
    console.error(`boxyard ${verb ?? ""}: ${error instanceof Error ? error.message : String(error)}`);
    // What the kernel refuses (a full disk, a directory that may not be written) says enough by itself.
    if (!(error instanceof AppError) && errnoOf(error) === undefined) console.error(error);
    return 1;
  }
}
