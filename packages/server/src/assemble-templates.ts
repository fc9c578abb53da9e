import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Clock, StepObserver, TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxDriver } from "@boxyard/driver";
import type { ServerConfig } from "./config.ts";
import { Pins } from "./images/pins.ts";
import type { UploadTarget } from "./proxy/upload-exchange.ts";
import { Downloads, FetchPolicy, type FetchPolicyOptions, removeWorkDirectories, Transport } from "./registry/index.ts";
import type { BuildSandboxes } from "./sandboxes/build-sandboxes.ts";
import type { Engine } from "./sandboxes/engine/engine.ts";
import { newSeed } from "./sandboxes/tokens.ts";
import type { SnapshotKeeper } from "./sandboxes/upkeep/snapshot-keeper.ts";
import type { TeamSecrets } from "./secrets/team-secrets.ts";
import type { Store } from "./store/index.ts";
import type { TeamLimits } from "./teams/limits.ts";
import { RegistryImages } from "./templates/builds/base/registry-images.ts";
import { Triggers } from "./templates/builds/base/triggers.ts";
import { Builds } from "./templates/builds/builds.ts";
import { BuildLayers } from "./templates/builds/finish/build-layers.ts";
import type { BuildSettings } from "./templates/builds/stage/build-settings.ts";
import { RunCaches } from "./templates/builds/steps/run-caches.ts";
import { MAX_UPLOAD_BYTES, UPLOAD_PATH, Uploads } from "./templates/builds/uploads.ts";
import { Catalog, DEFAULT_CPU_COUNT } from "./templates/catalog.ts";
import { TemplateImages } from "./templates/images/template-images.ts";
import { SnapshotCatalog } from "./templates/snapshots/snapshot-catalog.ts";
import { TagHistory } from "./templates/tag-history.ts";
import { TemplateFiles } from "./templates/template-files.ts";
import { TemplateLists } from "./templates/template-lists.ts";
import type { Templates } from "./templates/templates.ts";

export interface TemplateServicesDeps {
  readonly config: ServerConfig;
  readonly store: Store;
  readonly templates: Templates;
  readonly driver: SandboxDriver;
  readonly engine: Engine;
  readonly buildSandboxes: BuildSandboxes;
  readonly secrets: TeamSecrets;
  readonly snapshotKeeper: SnapshotKeeper;
  readonly limits: TeamLimits;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly settings: () => Promise<BuildSettings>;
  /** Tests inject faults before and after the points of a build. */
  readonly observer?: StepObserver;
}

export interface TemplateServices {
  readonly catalog: Catalog;
  readonly snapshotCatalog: SnapshotCatalog;
  readonly builds: Builds;
  readonly uploads: Uploads;
  readonly templateImages: TemplateImages;
  readonly templateLists: TemplateLists;
  readonly triggers: Triggers;
  readonly tagHistory: TagHistory;
  /** Layers that work in progress uses. */
  readonly pins: Pins;
}

/** Makes the services of templates and builds. */
export async function assembleTemplates(deps: TemplateServicesDeps): Promise<TemplateServices> {
  const { config, store, templates, driver, engine, clock, limits } = deps;
  const uploads = new Uploads({
    directory: join(config.dataDir, "build-files"),
    clock,
    seed: await store.getOrCreateMeta("upload-seed", newSeed),
    maxTeamBytes: config.maxBuildFilesMib * 2 ** 20,
  });
  const caches = new RunCaches(join(config.dataDir, "run-caches"));
  await caches.removeParts();
  const pins = new Pins(clock);
  const directory = join(config.dataDir, "downloads");
  removeWorkDirectories(directory);
  const registry = config.registry === undefined ? {} : { registry: config.registry };
  const shared = {
    images: driver.images,
    pins,
    transport: new Transport({ fetchPolicy: new FetchPolicy(fetchPolicyOptions(config)), clock }),
    directory,
    ...registry,
  };
  const images = new RegistryImages({ ...shared, downloads: new Downloads(directory, clock) });
  const templateImages = new TemplateImages({ ...shared, snapshots: driver.snapshots, templates, clock, logger: deps.logger });
  const builds = new Builds({
    ...deps,
    uploads,
    pins,
    images,
    layers: new BuildLayers({
      store,
      driver,
      templates,
      pins,
      layersOfSandboxes: () => engine.sandboxes.all().flatMap(({ record }) => record.facts.image.layers),
      maxCacheBytes: config.maxBuildCacheMib * 2 ** 20,
    }),
    caches,
    startsFromMemory: config.startsFromMemory,
    maxCpuCount: Math.max(DEFAULT_CPU_COUNT, availableParallelism()),
    maxBuilds: config.maxBuilds,
    checkBuilds: (teamId, amount) => limits.check(teamId, "builds", amount, 10),
  });
  const slugOf = async (teamId: TeamId) => (await store.teamSlug(teamId)) ?? "";
  const released = () =>
    deps.snapshotKeeper.collect().catch((error: unknown) => deps.logger.error({ err: error }, "snapshots are not collected"));
  const snapshotCatalog = new SnapshotCatalog({
    store,
    templates,
    clock,
    slugOf,
    usersOf: (buildIds) => engine.sandboxes.usersOfBuilds(buildIds),
    released,
  });
  const catalog = new Catalog({
    store,
    templates,
    snapshots: snapshotCatalog,
    released,
    clock,
    usersOf: (id) => engine.sandboxes.usersOf(id),
    slugOf,
    checkTemplates: (teamId, amount) => limits.check(teamId, "templates", amount),
    endBuilds: async (id) => {
      await builds.endAll(id);
      await caches.remove(id);
    },
  });
  const templateLists = new TemplateLists({ templates, store, files: new TemplateFiles(driver) });
  const tagHistory = new TagHistory({ templates, store });
  const triggers = new Triggers({ templates, images, clock });
  return { catalog, snapshotCatalog, builds, uploads, pins, templateImages, templateLists, tagHistory, triggers };
}

/** The operator names the registry for references without one, so that may be private too. */
function fetchPolicyOptions({ registry, privateRegistries, tokenServers, proxy }: ServerConfig): FetchPolicyOptions {
  const [own] = registry?.split("/") ?? [];
  return { privateRegistries: [...privateRegistries, ...(own === undefined ? [] : [own])], tokenServers, proxy };
}

/** Receives uploads to addresses of `uploads.link`. */
export function uploadTarget(uploads: Uploads): UploadTarget {
  const open = async (target: string, length: number) => {
    const { teamId, hash } = uploads.verify(target);
    return uploads.receive(teamId, hash, length);
  };
  return { prefix: UPLOAD_PATH, maxBytes: MAX_UPLOAD_BYTES, open };
}
