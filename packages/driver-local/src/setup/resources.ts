import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CARRIED_DIRECTORY, executableBuild } from "@boxyard/core";
import type { FileLock } from "@boxyard/core/file-lock";
import { buildDashboard, dashboardKey } from "./builders/dashboard.ts";
import { buildSdk, sdkKey } from "./builders/sdk.ts";
import { DASHBOARD, readCarriedFacts, SDK_PACKAGE, unpackCriuPreload, unpackForkServer, unpackGuest } from "./carried/unpack.ts";
import { CHECKOUT } from "./checkout.ts";
import { buildCriuPreload, buildForkServer, forkServerKey } from "./fork-server.ts";
import { buildGuest, type GuestBuildOptions, guestKey } from "./guest/build.ts";

/** The inputs of set-up: the sources of a checkout, or the files that the single executable carries. */
export interface Resources {
  /** The directory that contains `images/base/`. */
  readonly root: string;
  /** False when nothing is compiled, so that the machine needs no compiler. */
  readonly compiles: boolean;
  /** Hash of what the guest bundle is made from. */
  guestKey(): string;
  /** Fills the directory `target` with the guest bundle. */
  makeGuest(target: string, options: GuestBuildOptions): Promise<void>;
  /** Hash of what the fork server and CRIU's library are made from. */
  forkServerKey(): string;
  /** Writes the fork server's program to the new file `target`. A compiler inherits `lock`. */
  makeForkServer(target: string, env: Readonly<Record<string, string | undefined>>, lock?: FileLock): Promise<void>;
  /** As `makeForkServer`, for the library that a dump loads before those of CRIU. */
  makeCriuPreload(target: string, env: Readonly<Record<string, string | undefined>>, lock?: FileLock): Promise<void>;
  /** Path of a package of npm's registry, of the version that `images/base/` names; undefined when the machine's own npm client has to fetch it. */
  npmPackage(name: string): string | undefined;
  /** Hash of what the client package is made from. */
  sdkKey(): string;
  /** Writes the installable client package to the new file `target`. */
  makeSdk(target: string, env: Readonly<Record<string, string | undefined>>): Promise<void>;
  /** Hash of what the dashboard is made from. */
  dashboardKey(): string;
  /** Writes the dashboard's files into the new directory `target`. */
  makeDashboard(target: string, env: Readonly<Record<string, string | undefined>>): Promise<void>;
}

const checkout: Resources = {
  root: CHECKOUT,
  compiles: true,
  guestKey,
  makeGuest: buildGuest,
  forkServerKey,
  makeForkServer: buildForkServer,
  makeCriuPreload: buildCriuPreload,
  npmPackage: () => undefined,
  sdkKey,
  makeSdk: buildSdk,
  dashboardKey,
  makeDashboard: buildDashboard,
};

function carriedBy(root: string): Resources {
  return {
    root,
    compiles: false,
    guestKey: () => readCarriedFacts(root).guestKey,
    makeGuest: async (target, { progress }) => {
      progress?.("unpacking");
      unpackGuest(root, target);
    },
    forkServerKey: () => readCarriedFacts(root).forkServerKey,
    makeForkServer: async (target) => unpackForkServer(root, target),
    makeCriuPreload: async (target) => unpackCriuPreload(root, target),
    npmPackage: (name) => join(root, readCarriedFacts(root).npmPackages[name] ?? ""),
    sdkKey: () => executableBuild ?? "",
    makeSdk: async (target) => writeFileSync(target, readFileSync(join(root, SDK_PACKAGE))),
    dashboardKey: () => executableBuild ?? "",
    makeDashboard: async (target) => {
      mkdirSync(target);
      for (const name of readdirSync(join(root, DASHBOARD))) writeFileSync(join(target, name), readFileSync(join(root, DASHBOARD, name)));
    },
  };
}

/** The executable sees the files that it carries as a directory next to its code. */
export const resources: Resources = executableBuild === undefined ? checkout : carriedBy(join(import.meta.dir, CARRIED_DIRECTORY));
