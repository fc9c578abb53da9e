import { accessSync, constants } from "node:fs";
import { plainCommand } from "@boxyard/core";

const BASH = "/bin/bash";

/** What stands in for `/bin/bash`, which every public client names, in an image without it. All take `-l`, `-i` and `-c` as clients send them. */
const STAND_INS: readonly (readonly string[])[] = [["/usr/bin/bash"], ["/usr/local/bin/bash"], ["/bin/sh"], ["/bin/busybox", "sh"]];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The command line that is really started. It is the request's, but where `/bin/bash` is asked for and missing, the first shell there is
 * takes its place. Where there is none, a line that means no more than its words is started itself; any other command is left as it is, and
 * ends with 127 and a message on its standard error.
 */
export function resolveCommand(cmd: string, args: readonly string[], isThere: (path: string) => boolean = isExecutable): string[] {
  if (cmd !== BASH || isThere(BASH)) return [cmd, ...args];
  const standIn = STAND_INS.find(([path]) => path !== undefined && isThere(path));
  return standIn ? [...standIn, ...args] : (withoutShell(args) ?? [cmd, ...args]);
}

function withoutShell(args: readonly string[]): string[] | undefined {
  const [line = "", ...flags] = [...args].reverse();
  return flags.includes("-c") && flags.every((flag) => flag === "-c" || flag === "-l") ? plainCommand(line) : undefined;
}
