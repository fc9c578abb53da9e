import type { Fingerprint, FingerprintCheck } from "@boxyard/driver";
import { networkChecks } from "../network/index.ts";
import type { Reserve } from "../reserve-for-machine.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import { readInstance } from "../setup/instance-file.ts";
import { cgroupMode, controllers, diskBandwidth, quickCgroups } from "./checks/cgroups.ts";
import { btrfs, idmappedMounts, loopDevices, overlay, ownFigures, userNamespaces } from "./checks/kernel-features.ts";
import { kernelVersion, openFiles, root } from "./checks/machine.ts";
import { checkpoint, runtime } from "./checks/programs.ts";
import { diskSpace, pool, setUp } from "./checks/storage.ts";
import { kernelTables } from "./checks/tables.ts";
import { trials } from "./checks/trials.ts";
import { type Check, type DoctorContext, type Verdict, warn } from "./types.ts";

/** The checks of `doctor`, in order; the checks of the network follow. */
export const CHECKS: readonly Check[] = [
  root,
  kernelVersion,
  cgroupMode,
  controllers,
  diskBandwidth,
  runtime,
  userNamespaces,
  idmappedMounts,
  overlay,
  btrfs,
  loopDevices,
  ownFigures,
  openFiles,
  kernelTables,
  diskSpace,
  setUp,
  pool,
  checkpoint,
  trials,
  quickCgroups,
];

export interface FingerprintOptions {
  readonly runtime?: RuntimeName | undefined;
  readonly reserve?: Reserve | undefined;
  /** File with the name servers of sandboxes' questions; the machine's by default. */
  readonly resolvConf?: string | undefined;
}

/** What this machine can do for the data directory, and how to fix what is missing. Works before set-up too. Changes nothing. */
export async function fingerprint(dataDir: string, options: FingerprintOptions = {}): Promise<Fingerprint> {
  const context: DoctorContext = {
    dataDir,
    instance: instanceOf(dataDir),
    runtime: options.runtime,
    ...(options.reserve && { reserve: options.reserve }),
  };
  const checks: FingerprintCheck[] = [];
  for (const check of CHECKS) checks.push(await lookAt(check, context));
  const { instance, network } = context.instance ?? {};
  const { resolvConf } = options;
  const ofNetwork = { ...(instance && { instance }), ...(network && { network }), ...(resolvConf && { resolvConf }) };
  checks.push(...(await networkChecks(ofNetwork).catch(networkFailed)));
  return { checks };
}

async function lookAt(check: Check, context: DoctorContext): Promise<FingerprintCheck> {
  try {
    return { name: check.name, ...(await check.look(context)) };
  } catch (error) {
    return { name: check.name, ...couldNotCheck(error) };
  }
}

function networkFailed(error: unknown): FingerprintCheck[] {
  return [{ name: "network", ...couldNotCheck(error) }];
}

const couldNotCheck = (error: unknown): Verdict =>
  warn(`could not check: ${error instanceof Error ? error.message : String(error)}`, "Run doctor as root (sudo)");

function instanceOf(dataDir: string) {
  try {
    return readInstance(dataDir);
  } catch {
    return undefined; // There is no such directory yet, or this user may not read it.
  }
}
