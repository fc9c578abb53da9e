import { type Recording, type RecordingDetail, routes } from "@boxyard/spec/platform";
import type { Credentials } from "../../keys/credentials.ts";
import type { ExchangeLook, NetworkRecordings, RecordingLook } from "../../recordings/network-recordings.ts";
import type { RecordingArchives } from "../../recordings/recording-archives.ts";
import type { Observations } from "../../sandboxes/observations.ts";
import { json, noContent } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of recordings use. */
export interface RecordingServices {
  readonly recordings: NetworkRecordings;
  readonly recordingArchives: RecordingArchives;
  readonly observations: Observations;
  readonly credentials: Credentials;
}

type HandlerOf<R> = RouteHandler<RecordingServices, R>;

const listRecordings: HandlerOf<typeof routes.listRecordings> = async ({ caller }, services) =>
  json(
    200,
    (await services.recordings.list(caller.teamId)).map((one) => present(one, services)),
  );

const getRecording: HandlerOf<typeof routes.getRecording> = async ({ caller, param, query }, services) => {
  const { count, exchanges, ...recording } = await services.recordings.get(caller.teamId, param("recording"), query.limit);
  return json(200, { ...present(recording, services), count, exchanges: exchanges.map(presentExchange) } satisfies RecordingDetail);
};

const deleteRecording: HandlerOf<typeof routes.deleteRecording> = async ({ caller, param }, { recordings }) => {
  await recordings.remove(caller.teamId, param("recording"));
  return noContent();
};

const exportRecording: HandlerOf<typeof routes.exportRecording> = async ({ caller, param, call }, { recordingArchives }) => {
  const name = param("recording");
  const har = await recordingArchives.export(caller.teamId, name);
  call.streamAnswer();
  return new Response(har, {
    headers: { "Content-Type": "application/har+json", "Content-Disposition": `attachment; filename="${name}.har"` },
  });
};

const importRecording: HandlerOf<typeof routes.importRecording> = async ({ caller, query, call }, services) => {
  const { recordingArchives: archives } = services;
  const { count, skipped, ...recording } = await archives.import(caller.teamId, query.name, call.stream(archives.maxBytes));
  return json(201, { ...present(recording, services), count, skipped });
};

const iso = (ms: number) => new Date(ms).toISOString();

function present({ id, name, createdAt, changedAt, bytes, incomplete }: RecordingLook, { observations }: RecordingServices): Recording {
  const deleteAt = observations.deletionOf("recordings", id);
  return {
    ...{ name, createdAt: iso(createdAt), changedAt: iso(changedAt), sizeBytes: bytes },
    ...(incomplete !== undefined && { incomplete }),
    ...(deleteAt !== undefined && { deleteAt: iso(deleteAt) }),
  };
}

const presentExchange = ({ at, method, url, status, bytes, tookMs }: ExchangeLook): RecordingDetail["exchanges"][number] => ({
  ...{ timestamp: iso(at), method, url, status, sizeBytes: bytes, durationMs: tookMs },
});

export function mountRecordings(app: Api, services: RecordingServices): void {
  mount(app, services, routes.listRecordings, listRecordings);
  mount(app, services, routes.getRecording, getRecording);
  mount(app, services, routes.deleteRecording, deleteRecording);
  mount(app, services, routes.exportRecording, exportRecording);
  mount(app, services, routes.importRecording, importRecording);
}
