import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, isSandboxId, SerialQueues, systemClock } from "@boxyard/core";
import type { Fingerprint } from "@boxyard/driver";
import { findHierarchies } from "./cgroup/hierarchies.ts";
import { InstanceCgroups } from "./cgroup/instance.ts";
import { limitInstance, machineSize, useOfInstance } from "./cgroup/instance-limits.ts";
import { SpareChildren } from "./cgroup/spare-children.ts";
import { readMemoryAccount } from "./cgroup/stats.ts";
import { RoomForMemory } from "./checkpoint-store/room-for-memory.ts";
import { WakeCache } from "./checkpoint-store/wake-cache.ts";
import type { LocalDriverConfig } from "./config.ts";
import { workingCriu } from "./criu/criu.ts";
import { endLeftRuns } from "./criu/processes.ts";
import { limitFor, MOMENT_SCRIPT } from "./criu/run.ts";
import { LocalDriver } from "./driver.ts";
import { Figures } from "./figures/figures.ts";
import { MemoryGuard } from "./guard/guard.ts";
import { countKernelBytes, sparedBytes } from "./guard/machine-memory.ts";
import { RUN_DIRECTORY } from "./network/index.ts";
import type { HardLimits } from "./oci/config.ts";
import { seccompConfig } from "./oci/seccomp/config.ts";
import type { PoolStorage, SandboxNetworks } from "./parts.ts";
import { diskOf } from "./pool-storage/disk-of.ts";
import { shareOfSandboxes } from "./reserve-for-machine.ts";
import { ROOT_MOUNT } from "./rootfs/mounts.ts";
import { UidClaims } from "./rootfs/uid-claims.ts";
import { UidRanges } from "./rootfs/uid-ranges.ts";
import { chooseRuntime } from "./runtime/choose.ts";
import { OciRuntime } from "./runtime/oci-runtime.ts";
import { bootId } from "./runtime/process.ts";
import { cgroupOf, type LocalParts } from "./sandbox/parts.ts";
import { adoptSandboxes } from "./sandbox/recover.ts";
import { runningSandboxes } from "./sandbox/running.ts";
import { DataPaths } from "./state/paths.ts";
import { diskQuotaOf, type LocalSandboxRecord, readRecord } from "./state/record.ts";
import { stepTrace } from "./step-trace.ts";
import { FileEvents } from "./sys/file-events.ts";
import type { ForkServer } from "./sys/fork-server/index.ts";
import { VolumeFiles } from "./user-volumes/volume-files.ts";

const AGENT_TIMEOUT_MS = 10_000;
const CRIU_LIMIT_MS = 30_000;
const MAX_OPEN_FILES = 16_384;
/** The guard takes the machine's reserve for so much at least, however little of it an operator sets. */
const LEAST_RESERVE_BYTES = 256 << 20;
/** Shares of the memory that all sandboxes may have: what paused sandboxes in memory may take, and what must stay free besides. */
const WAKE_CACHE_SHARE = 1 / 4;
const LEAST_FREE_SHARE = 1 / 8;

export interface AssembledParts {
  /** Eight hex digits that all names of this server on the machine carry. */
  readonly instance: string;
  readonly guestDirectory: string;
  readonly forkServer: ForkServer;
  readonly networks: SandboxNetworks;
  readonly storage: PoolStorage;
  readonly fingerprint: () => Promise<Fingerprint>;
}

const TRIAL_FAILED =
  "the memory of a paused sandbox could not be restored in a trial; its processes stay in memory until it is resumed, so resume it before this server ends";

/** Puts a driver together from its parts and makes the sandboxes of an earlier process known to them. */
export function assembleDriver(
  config: LocalDriverConfig,
  { instance, guestDirectory, forkServer, networks, storage, fingerprint }: AssembledParts,
): LocalDriver {
  if (`${config.dataDir}/`.startsWith(`${ROOT_MOUNT}/`)) {
    throw new AppError("failed_precondition", `The data directory cannot lie in ${ROOT_MOUNT}; choose another BOXYARD_DATA`, {
      reason: "data_directory",
    });
  }
  const runtime = chooseRuntime(config.runtime);
  const paths = new DataPaths(config.dataDir);
  for (const directory of [paths.sandboxes, paths.layersMount]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(paths.criuScript, MOMENT_SCRIPT, { mode: 0o755 });
  const cgroups = instanceCgroups(config, instance, storage.root);
  cgroups.prepare();
  const spareChildren = new SpareChildren(cgroups, forkServer);
  spareChildren.open();
  const limits = shareOfSandboxes(machineSize(), config.reserve);
  if (!limitInstance(cgroups, limits)) {
    config.logger.warn(limits, "sandboxes hold more memory than all of them may now; the old limit holds until they have ended");
  }
  const clock = config.clock ?? systemClock;
  const { budgetBytes = Math.floor(limits.memoryBytes * WAKE_CACHE_SHARE), lingerMs = 0, trialsAtOnce = 0 } = config.wakeCache ?? {};
  const wakeCache = new WakeCache({
    limits: { budgetBytes, lingerMs, trialsAtOnce },
    clock,
    memory: () => ({
      freeBytes: useOfInstance(cgroups, limits).memoryFreeBytes,
      leastFreeBytes: limits.memoryBytes * LEAST_FREE_SHARE,
    }),
  });
  const parts: LocalParts = {
    paths,
    machine: {
      openFiles: config.maxOpenFiles ?? MAX_OPEN_FILES,
      hardLimits: hardLimits(),
      oomScoreAdj: Number(readFileSync("/proc/self/oom_score_adj", "utf8")),
      seccomp: seccompConfig(runtime.dialect.seccompForm(runtime.file)),
    },
    cgroups,
    forkServer,
    spareChildren,
    limits,
    figures: Figures.open(
      { factsOf: (id) => paths.hostFacts(id), accountOf: (id) => readMemoryAccount(cgroupOf({ cgroups, clock }, id)), clock },
      config.logger,
    ),
    fileEvents: FileEvents.open(),
    wakeCache,
    turns: new SerialQueues(),
    guard: new MemoryGuard({
      running: () => runningSandboxes(parts),
      logger: config.logger,
      kernel: {
        countedBytes: countKernelBytes(cgroups.hierarchies),
        sparedBytes,
        reserveBytes: Math.max(machineSize().memoryBytes - limits.memoryBytes, LEAST_RESERVE_BYTES),
        sleep: (ms) => clock.sleep(ms),
      },
      beforeLook: () => wakeCache.look(),
    }),
    uidRanges: new UidRanges(instance, new UidClaims(RUN_DIRECTORY, instance, bootId())),
    networks,
    storage,
    runtime: new OciRuntime(runtime, paths.runtime, clock, forkServer),
    criu: workingCriu(config.dataDir),
    criuLimitMs: config.criuLimitMs ?? CRIU_LIMIT_MS,
    criuScript: paths.criuScript,
    roomForMemory: new RoomForMemory(storage),
    lazyMemory: { isOff: false, failed: new Set() },
    guestDirectory,
    clock,
    agentTimeoutMs: config.agentTimeoutMs ?? AGENT_TIMEOUT_MS,
    observer: { ...stepTrace(config.logger, cgroups, forkServer), ...config.observer },
    onUndoError: (undo, error) => config.logger.error({ err: error, undo }, "an undo failed; the sandbox stays listed"),
    onTrial(sandboxId, fails, err) {
      if (fails) config.logger.error({ sandboxId, err }, TRIAL_FAILED);
      else config.logger.warn({ sandboxId, err }, "whether the memory of a paused sandbox can be restored could not be tried");
    },
  };
  endLeftRuns(cgroups.name, limitFor(parts.criuLimitMs, limits.memoryBytes));
  adoptSandboxes(parts, readdirSync(paths.sandboxes).filter(isSandboxId));
  const limitOf = (name: string) => (isSandboxId(name) ? quotaOf(readRecord(paths.state(name))) : undefined);
  const userVolumes = new VolumeFiles(storage.userVolumesRoot);
  storage.watchGrowth({ limitOf, userVolumeLimitOf: (id) => userVolumes.quotaOf(id), clock, logger: config.logger });
  return new LocalDriver(parts, fingerprint);
}

const quotaOf = (record: LocalSandboxRecord | undefined): number | undefined => record && diskQuotaOf(record);

/** The v1 hierarchy of disks is used when the operator sets a bandwidth, and while cgroups of this instance are left in it. */
function instanceCgroups({ diskBandwidth }: LocalDriverConfig, instance: string, pool: string): InstanceCgroups {
  const disk = diskBandwidth === undefined ? undefined : { device: diskOf(pool), bytesPerSecond: diskBandwidth };
  const hierarchies = findHierarchies((point) => disk !== undefined || existsSync(join(point, `boxyard-${instance}`)));
  return new InstanceCgroups(hierarchies, instance, disk);
}

function hardLimits(): HardLimits {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const read = (name: string): number => {
    const value = new RegExp(`^${name}\\s+\\S+\\s+(\\S+)`, "m").exec(limits)?.[1];
    return value === undefined || value === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(value);
  };
  return {
    openFiles: read("Max open files"),
    processes: read("Max processes"),
    pendingSignals: read("Max pending signals"),
    messageQueueBytes: read("Max msgqueue size"),
  };
}
