import { statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { type AgentContext, type HttpCall, httpFailure } from "../../contracts.ts";
import { actingName, lookUpUser } from "../access.ts";
import { contentDisposition } from "../download/disposition.ts";
import { streamOf } from "../download/read-stream.ts";
import { LIMITS } from "../limits.ts";
import { baseName, resolvePath } from "../path/resolve-path.ts";
import { errnoOf, fileError } from "../sys/errno.ts";
import { tarOf } from "./tar-of.ts";

/** Archives that are being sent. */
let sending = 0;

/** `GET /boxyard/archive` (docs/contract/agent.md, Archives): a directory as a tar. */
export async function archive(ctx: AgentContext, call: HttpCall): Promise<Response> {
  const user = lookUpUser(ctx, actingName(ctx, call.query.get("username")));
  const path = resolvePath(ctx.state, user, call.query.get("path") ?? "");
  checkDirectory(path);
  if (sending >= LIMITS.archives) {
    throw new AppError("resource_exhausted", `${LIMITS.archives} archives are sent already; try again when one has ended`, {
      reason: "too_many_archives",
      details: { httpStatus: 429 },
    });
  }
  const name = baseName(path);
  return new Response(streamOf(counted(path, name)), {
    headers: { "Content-Type": "application/x-tar", "Content-Disposition": contentDisposition(`${name || "root"}.tar`) },
  });
}

/** Counts from the first byte on: a body that is never read holds nothing, and is not ended either. */
async function* counted(path: string, name: string): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  sending += 1;
  try {
    yield* tarOf(path, name);
  } finally {
    sending -= 1;
  }
}

function checkDirectory(path: string): void {
  let isDirectory: boolean;
  try {
    isDirectory = statSync(path).isDirectory();
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") throw httpFailure(404, `path '${path}' does not exist`, error);
    throw fileError(`look at '${path}'`, error);
  }
  if (!isDirectory) throw httpFailure(400, `path '${path}' is not a directory`);
}
