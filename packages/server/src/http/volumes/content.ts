import { AppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { SandboxDriver, VolumeEntry } from "@boxyard/driver";
import type { Context } from "hono";
import { z } from "zod";
import type { ApiCall } from "../../proxy/api-call.ts";
import type { Tokens } from "../../sandboxes/tokens.ts";
import type { VolumeRecord } from "../../store/index.ts";
import { withVolumeName } from "../../volumes/naming.ts";
import type { Volumes } from "../../volumes/volumes.ts";
import { parseAs, readJson } from "../body.ts";
import { errorResponse } from "../errors.ts";
import { REQUEST_ID } from "../log.ts";
import { json, noContent } from "../responses.ts";
import type { Api } from "../route.ts";

/* The files of volumes, for callers with the volume's token (docs/contract/platform.md, Volumes). */

export interface VolumeContentServices {
  readonly volumes: Volumes;
  readonly volumeContent: SandboxDriver["volumes"]["content"];
  readonly tokens: Tokens;
  readonly logger: Logger;
}

interface ContentCall {
  readonly volume: VolumeRecord;
  readonly content: VolumeContentServices["volumeContent"];
  readonly query: z.output<typeof Query>;
  readonly call: ApiCall;
  readonly signal: AbortSignal;
}

type ContentHandler = (call: ContentCall) => Promise<Response>;

const id = z.coerce.number().int("must be a whole number").min(0, "must be at least 0").max(65_535, "must be at most 65535");
const mode = z.coerce.number().int("must be a whole number").min(0, "must be at least 0").max(0o7777, "must be at most 4095");
const attributes = { uid: id.optional(), gid: id.optional(), mode: mode.optional() };
const Query = z.object({
  path: z.string().default(""),
  to: z.string().default(""),
  depth: z.coerce.number().int().default(1),
  force: z.enum(["true", "false", "1", "0"]).optional(),
  ...attributes,
});
const Attributes = z.object(attributes);
const MAX_ATTRIBUTES_BYTES = 4096;

const stat: ContentHandler = async ({ content, volume, query }) => json(200, present(await content.stat(volume.id, query.path)));

const update: ContentHandler = async ({ content, volume, query, call }) => {
  const wanted = parseAs(Attributes, readJson(await call.body(MAX_ATTRIBUTES_BYTES)) ?? {}, "body");
  return json(200, present(await content.update(volume.id, query.path, wanted)));
};

const remove: ContentHandler = async ({ content, volume, query }) => {
  await content.remove(volume.id, query.path);
  return noContent();
};

const list: ContentHandler = async ({ content, volume, query: { path, depth } }) =>
  json(200, (await content.list(volume.id, path, { depth })).map(present));

const makeDirectory: ContentHandler = async ({ content, volume, query }) =>
  json(201, present(await content.makeDirectory(volume.id, query.path, optionsOf(query))));

const read: ContentHandler = async ({ content, volume, query, call, signal }) => {
  const { stream, lengthBytes } = await content.read(volume.id, query.path, { signal });
  call.streamAnswer();
  return new Response(stream, { headers: { "Content-Type": "application/octet-stream", "Content-Length": String(lengthBytes) } });
};

/** Of a body that is longer than the volume nothing is read. */
const write: ContentHandler = async ({ content, volume, query, call, signal }) => {
  const source = call.stream(volume.sizeBytes);
  return json(201, present(await content.write(volume.id, query.path, source, { ...optionsOf(query), signal })));
};

/** An operation of our own. */
const move: ContentHandler = async ({ content, volume, query: { path, to, force } }) =>
  json(200, present(await content.move(volume.id, path, to, { force: force === "true" || force === "1" })));

const optionsOf = ({ uid, gid, mode, force }: ContentCall["query"]) => ({ uid, gid, mode, force: force === "true" || force === "1" });

const iso = (ms: number) => new Date(ms).toISOString();

const present = ({ name, type, path, sizeBytes, uid, gid, target, ...entry }: VolumeEntry) => ({
  ...{ name, type, path, size: sizeBytes, mode: entry.mode, uid, gid },
  ...{ atime: iso(entry.accessedAt), mtime: iso(entry.modifiedAt), ctime: iso(entry.changedAt) },
  ...(target === undefined ? {} : { target }),
});

/** Mounts a handler. The token is checked before anything else, so that only its holder learns whether there is a volume. */
function mountContent(app: Api, services: VolumeContentServices, method: string, part: string, handler: ContentHandler): void {
  app.on(method, `/volumecontent/:volumeID/${part}`, async (c: Context<{ Bindings: ApiCall }>) => {
    let volume: VolumeRecord | undefined;
    try {
      const volumeId = c.req.param("volumeID") ?? "";
      const [, token = ""] = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
      if (!services.tokens.isOfVolume(token, volumeId)) {
        throw new AppError("unauthenticated", "The token is not the volume's: send it as 'Authorization: Bearer TOKEN'", {
          reason: "volume_token_invalid",
        });
      }
      c.env.trust();
      const query = parseAs(Query, c.req.query(), "query");
      volume = await services.volumes.find(volumeId);
      return await handler({ volume, query, content: services.volumeContent, call: c.env, signal: c.req.raw.signal });
    } catch (error) {
      return contentError(withVolumeName(error, volume && [volume]), services.logger, c.req.header(REQUEST_ID));
    }
  });
}

/** As other errors, but with a text as `code`. */
async function contentError(error: unknown, logger: Logger, requestId: string | undefined): Promise<Response> {
  const plain = errorResponse(error, logger, requestId);
  const { message, details } = (await plain.json()) as { readonly message: string; readonly details?: unknown };
  const code = error instanceof AppError ? error.reason : "internal";
  return new Response(JSON.stringify({ code, message, details }), { status: plain.status, headers: plain.headers });
}

export function mountVolumeContent(app: Api, services: VolumeContentServices): void {
  mountContent(app, services, "GET", "path", stat);
  mountContent(app, services, "PATCH", "path", update);
  mountContent(app, services, "DELETE", "path", remove);
  mountContent(app, services, "POST", "path", move);
  mountContent(app, services, "GET", "dir", list);
  mountContent(app, services, "POST", "dir", makeDirectory);
  mountContent(app, services, "GET", "file", read);
  mountContent(app, services, "PUT", "file", write);
}
