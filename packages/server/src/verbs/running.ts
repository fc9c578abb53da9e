import { chmodSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";
import { adminTokenPath } from "../keys/first-key.ts";
import type { Machine } from "../machine.ts";
import { Replica } from "../replicas/replica.ts";
import { type RunningServer, type ServerOptions, startServer, urlOf } from "../start-server.ts";
import type { OrphanPolicy } from "../store-identity.ts";
import { BUILD_DIRECTORY, type BuildSettings, noBuildSettings } from "../templates/builds/stage/build-settings.ts";

/** What `serve` runs. */
export interface Running {
  readonly url: string;
  /** Rejects when it must end; never settles otherwise. */
  readonly lost: Promise<never>;
  /** Releases everything; the sandboxes go on. */
  close(): Promise<void>;
}

export interface RunningParts {
  readonly config: ServerConfig;
  readonly machine: Machine;
  readonly logger: Logger;
  readonly orphans: OrphanPolicy;
}

type ReplicaConfig = ServerConfig & { readonly databaseUrl: string; readonly replicaAddress: string };

/** True for one of several servers on one database. */
export const isReplica = (config: ServerConfig): config is ReplicaConfig =>
  config.replicaAddress !== undefined && config.databaseUrl !== undefined;

/** The one server of its data directory. */
export async function startAlone(parts: RunningParts): Promise<Running> {
  const driver = await parts.machine.openDriver(parts.logger);
  const server = await startServer({ ...optionsOf(parts), driver }).catch(async (error) => {
    // Else the driver's open handles would keep the process alive, though it does not serve.
    await driver.close();
    throw error;
  });
  begun(parts, server);
  const close = async () => {
    await server.close();
    await driver.close();
  };
  return { url: server.url, lost: server.lost, close };
}

/** One of several servers, which owns the sandboxes or passes requests on to the one that does. */
export async function startReplica(parts: RunningParts): Promise<Running> {
  const { config, machine, logger } = parts;
  if (!isReplica(config)) throw new TypeError("not the settings of a replica");
  if (!machine.isShared) throw notShared();
  const onOwner = (server: RunningServer) => begun(parts, server);
  const openDriver = () => machine.openDriver(logger);
  const replica = await Replica.start({ ...optionsOf(parts), config, openDriver, onOwner });
  return { url: urlOf(config.listen.hostname, replica.port), lost: new Promise(() => {}), close: () => replica.close() };
}

const notShared = () =>
  new AppError(
    "failed_precondition",
    "BOXYARD_REPLICA_ADDRESS needs a driver whose sandboxes every server reaches: BOXYARD_DRIVER=kubernetes",
    {
      reason: "not_shared",
    },
  );

/** The settings of a server that are those of its machine. */
function optionsOf({ config, machine, logger, orphans }: RunningParts): Omit<ServerOptions, "driver"> {
  const { observer, sdkPackage, dashboardFiles, packageHosts } = machine;
  const buildSettings = config.buildSettings === "machine" ? settingsOf(machine, config) : noBuildSettings;
  const authorities = machine.authorities(config.authorities);
  const pages = { sdkPackage, dashboardFiles, packageHosts, fingerprint: () => machine.fingerprint() };
  return { config, orphans, logger, buildSettings, authorities, ...pages, ...(observer && { observer }) };
}

function begun({ config, logger }: RunningParts, server: RunningServer): void {
  for (const path of [server.firstKey.path, adminTokenPath(config.dataDir)]) chmodSync(path, 0o600);
  const { removals: _, ...adoption } = server.adoption;
  logger.info({ url: server.url, ...adoption }, "server started");
}

/** Reads the machine's settings once, for the first build: that starts `apt-config`, and many servers build nothing. The next build retries a read that failed. */
function settingsOf(machine: Machine, { authorities }: ServerConfig): () => Promise<BuildSettings> {
  let read: Promise<BuildSettings> | undefined;
  return () => {
    read ??= machine.buildSettings(BUILD_DIRECTORY, { authorities }).catch((error: unknown) => {
      read = undefined;
      throw error;
    });
    return read;
  };
}
