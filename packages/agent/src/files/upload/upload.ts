import { writeSync } from "node:fs";
import { type AgentContext, type HttpCall, httpFailure, type SystemUser } from "../../contracts.ts";
import { actingName, authorise, lookUpUser } from "../access.ts";
import { metadataOfHeaders } from "../metadata.ts";
import { resolvePath } from "../path/resolve-path.ts";
import type { StagedFile } from "../staged-file.ts";
import { UploadBatch } from "./batch.ts";
import { type BodyCoding, chunksOf, codingOf, gunzip, idleWatch } from "./body.ts";
import { boundaryOf, partsOf } from "./multipart.ts";
import { writeChunks } from "./write-chunks.ts";

/** Bodies up to this size are read whole, which takes fewer turns of the event loop than a stream. */
const SMALL_BYTES = 128 * 1024;
/** How often the file is checked for growth while the runtime writes the body. */
const PROGRESS_MS = 5_000;

/** `POST /files` (docs/contract/agent.md, Files): the body's files, owned by the user, all or none. Answers the entries in the order of the upload. */
export async function upload(ctx: AgentContext, call: HttpCall): Promise<Response> {
  authorise(ctx, call, "write");
  const name = actingName(ctx, call.query.get("username"));
  const coding = codingOf(call.request.headers);
  const user = lookUpUser(ctx, name);
  const batch = new UploadBatch(user, metadataOfHeaders(call.request.headers));
  try {
    const type = call.request.headers.get("Content-Type") ?? "";
    const essence = type.split(";")[0]?.trim().toLowerCase() ?? "";
    if (essence === "application/octet-stream") await receiveRaw(ctx, call, user, batch, coding);
    else if (essence.startsWith("multipart/")) await receiveParts(ctx, call, user, batch, coding, boundaryOf(type));
    else throw httpFailure(400, `unsupported content type: ${essence}, expected multipart/form-data or application/octet-stream`);
    return Response.json(batch.commit());
  } finally {
    batch.discard();
  }
}

function decoded(ctx: AgentContext, call: HttpCall, coding: BodyCoding): AsyncIterable<Uint8Array> {
  const chunks = chunksOf(call.request.body, ctx.clock);
  return coding === "gzip" ? gunzip(chunks) : chunks;
}

async function receiveRaw(ctx: AgentContext, call: HttpCall, user: SystemUser, batch: UploadBatch, coding: BodyCoding): Promise<void> {
  const path = call.query.get("path");
  if (!path) throw httpFailure(400, "path query parameter is required for raw body upload");
  await batch.add(resolvePath(ctx.state, user, path), async (file) => {
    if (coding === "gzip") return writeChunks(file.fd, decoded(ctx, call, coding));
    const length = Number(call.request.headers.get("Content-Length") ?? Number.NaN);
    if (length <= SMALL_BYTES) await writeSmall(ctx, call.request, file);
    else await writeStream(ctx, call.request, file);
  });
}

async function writeSmall(ctx: AgentContext, request: Request, file: StagedFile): Promise<void> {
  const idle = idleWatch(ctx.clock);
  try {
    const bytes = new Uint8Array(await Promise.race([request.arrayBuffer(), idle.expired]));
    for (let at = 0; at < bytes.length; ) at += writeSync(file.fd, bytes, at);
  } finally {
    idle.stop();
  }
}

/** The runtime writes the body to the file, with back-pressure, twice as fast as chunk by chunk in JavaScript. */
async function writeStream(ctx: AgentContext, request: Request, file: StagedFile): Promise<void> {
  const idle = idleWatch(ctx.clock);
  const stop = new AbortController();
  followGrowth(ctx, file, idle.moved, stop.signal).catch(() => {});
  try {
    // By path: the runtime then has a descriptor of its own, and ours can be closed when the upload fails.
    await Promise.race([Bun.write(file.fdPath, new Response(request.body)), idle.expired]);
  } finally {
    stop.abort();
    idle.stop();
  }
}

async function followGrowth(ctx: AgentContext, file: StagedFile, moved: () => void, signal: AbortSignal): Promise<void> {
  for (let last = -1; ; ) {
    await ctx.clock.sleep(PROGRESS_MS, signal);
    const size = file.size();
    if (size !== last) moved();
    last = size;
  }
}

async function receiveParts(
  ctx: AgentContext,
  call: HttpCall,
  user: SystemUser,
  batch: UploadBatch,
  coding: BodyCoding,
  boundary: string,
): Promise<void> {
  const single = call.query.get("path");
  for await (const part of partsOf(decoded(ctx, call, coding), boundary)) {
    if (part.name !== "file") continue;
    const path = single || part.filename;
    if (!path) throw httpFailure(400, "a file part has no filename and the query has no path");
    await batch.add(resolvePath(ctx.state, user, path), (file) => writeChunks(file.fd, part.content));
  }
}
