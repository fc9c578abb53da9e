import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { StepObserver } from "@boxyard/core";
import type { Machine } from "../../machine.ts";
import { NO_AUTHORITIES } from "../../sandboxes/authorities.ts";
import { noBuildSettings } from "../../templates/builds/stage/build-settings.ts";
import { run } from "../../verbs/index.ts";
import { KILL_AT } from "./kill-at.ts";
import { openRemoteDriver } from "./remote-driver.ts";

/** The process of a replica, for tests: `serve` with the driver of the world at WORLD_URL. */

const { WORLD_URL = "", BOXYARD_DATA = "" } = process.env;

/** `point`: `before` or `after`, and the name of a step. */
function die(point: string): void {
  let wanted: string;
  try {
    wanted = readFileSync(join(BOXYARD_DATA, KILL_AT), "utf8");
  } catch {
    return;
  }
  if (wanted === point) process.kill(process.pid, "SIGKILL");
}

const observer: StepObserver = { before: (name) => die(`before ${name}`), after: (name) => die(`after ${name}`) };

const unused = () => Promise.reject(new Error("not in this test"));

const machine: Machine = {
  isShared: true,
  isSetUp: async () => true,
  setUp: unused,
  rebuildBase: unused,
  openDriver: () => openRemoteDriver(WORLD_URL),
  buildSettings: noBuildSettings,
  authorities: () => NO_AUTHORITIES,
  packageHosts: () => [],
  sdkPackage: unused,
  dashboardFiles: unused,
  fingerprint: unused,
  isInstalled: () => true,
  uninstall: async () => [],
  observer,
};

process.exitCode = await run(["serve"], machine);
