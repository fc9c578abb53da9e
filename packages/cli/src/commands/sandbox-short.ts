import type { Command } from "commander";
import type { CliContext } from "../context.ts";
import { configureKill, configureList } from "./sandbox.ts";

/** The short forms of `sandbox list` and `sandbox kill`. */
export const ls = { configure: (command: Command, context: CliContext): void => configureList(command, context) };
export const rm = { configure: (command: Command, context: CliContext): void => configureKill(command, context) };
