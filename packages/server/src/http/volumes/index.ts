import { type ListedVolume, routes, type VolumeAndToken, type VolumeDetail } from "@boxyard/spec/platform";
import type { ServerConfig } from "../../config.ts";
import type { Idempotency } from "../../idempotency.ts";
import type { Credentials } from "../../keys/credentials.ts";
import type { Tokens } from "../../sandboxes/tokens.ts";
import type { VolumeRecord } from "../../store/index.ts";
import { createVolumeOnce } from "../../volumes/create-once.ts";
import type { Volumes, VolumeUse } from "../../volumes/volumes.ts";
import { json, noContent } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of volumes use. */
export interface VolumeServices {
  readonly volumes: Volumes;
  readonly idempotency: Pick<Idempotency, "run">;
  readonly tokens: Tokens;
  readonly credentials: Credentials;
  readonly config: Pick<ServerConfig, "domain">;
}

type HandlerOf<R> = RouteHandler<VolumeServices, R>;

const createVolume: HandlerOf<typeof routes.createVolume> = async ({ body, caller, header }, services) =>
  json(201, present(await createVolumeOnce(services, caller.teamId, body, header("idempotency-key")), services));

const listVolumes: HandlerOf<typeof routes.listVolumes> = async ({ caller }, { volumes }) =>
  json(200, (await volumes.list(caller.teamId)).map(presentListed));

const getVolume: HandlerOf<typeof routes.getVolume> = async ({ caller, param }, services) =>
  json(200, present(await services.volumes.get(caller.teamId, param("volumeID")), services));

const deleteVolume: HandlerOf<typeof routes.deleteVolume> = async ({ caller, param }, { volumes }) => {
  await volumes.remove(caller.teamId, param("volumeID"));
  return noContent();
};

const lookAtVolume: HandlerOf<typeof routes.lookAtVolume> = async ({ caller, param }, services) =>
  json(200, detail(await services.volumes.look(caller.teamId, param("volume")), services));

const resizeVolume: HandlerOf<typeof routes.resizeVolume> = async ({ body, caller, param }, services) =>
  json(200, detail(await services.volumes.resize(caller.teamId, param("volume"), body.sizeMB), services));

const exportVolume: HandlerOf<typeof routes.exportVolume> = async ({ caller, param, signal, call }, { volumes }) => {
  const { tar, name } = await volumes.export(caller.teamId, param("volume"), signal);
  call.streamAnswer();
  return new Response(tar, {
    headers: { "Content-Type": "application/x-tar", "Content-Disposition": `attachment; filename="${name}.tar"` },
  });
};

const importVolume: HandlerOf<typeof routes.importVolume> = async ({ query, caller, signal, call }, services) => {
  const archive = { source: call.stream(services.volumes.archiveBytes(query.sizeMB)), signal };
  return json(201, detail(await services.volumes.import(caller.teamId, { ...query, archive }), services));
};

const present = ({ id, name }: VolumeRecord, { tokens, config }: VolumeServices): VolumeAndToken => ({
  volumeID: id,
  name,
  token: tokens.volume(id),
  ...(config.domain === undefined ? {} : { domain: config.domain }),
});

const presentListed = ({ id, name, sizeBytes, usedBytes }: VolumeUse): ListedVolume => ({
  volumeID: id,
  name,
  sizeMB: Math.round(sizeBytes / 2 ** 20),
  ...(usedBytes === undefined ? {} : { usedBytes }),
});

const detail = (volume: VolumeUse, services: VolumeServices): VolumeDetail => ({
  ...present(volume, services),
  ...presentListed(volume),
  createdAt: new Date(volume.createdAt).toISOString(),
});

export function mountVolumes(app: Api, services: VolumeServices): void {
  mount(app, services, routes.createVolume, createVolume);
  mount(app, services, routes.listVolumes, listVolumes);
  mount(app, services, routes.getVolume, getVolume);
  mount(app, services, routes.deleteVolume, deleteVolume);
  mount(app, services, routes.lookAtVolume, lookAtVolume);
  mount(app, services, routes.resizeVolume, resizeVolume);
  mount(app, services, routes.exportVolume, exportVolume);
  mount(app, services, routes.importVolume, importVolume);
}
