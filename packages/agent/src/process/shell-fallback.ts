import { accessSync, constants } from "node:fs";
import { plainCommand } from "@boxyard/core";

const BASH = "/bin/bash";

/** Shells that replace `/bin/bash`, which every public client names, in an image without it. All accept `-l`, `-i` and `-c`. */
const OTHER_SHELLS: readonly (readonly string[])[] = [["/usr/bin/bash"], ["/usr/local/bin/bash"], ["/bin/sh"], ["/bin/busybox", "sh"]];

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The command line to start: the request's, but the first existing shell of the list replaces a missing `/bin/bash`. Without any shell a command
 * line of plain words is started directly; any other fails with exit code 127 and a message on its standard error.
 */
export function resolveCommand(cmd: string, args: readonly string[], isThere: (path: string) => boolean = isExecutable): string[] {
  if (cmd !== BASH || isThere(BASH)) return [cmd, ...args];
  const shell = OTHER_SHELLS.find(([path]) => path !== undefined && isThere(path));
  return shell ? [...shell, ...args] : (withoutShell(args) ?? [cmd, ...args]);
}

function withoutShell(args: readonly string[]): string[] | undefined {
  const [line = "", ...flags] = [...args].reverse();
  return flags.includes("-c") && flags.every((flag) => flag === "-c" || flag === "-l") ? plainCommand(line) : undefined;
}
