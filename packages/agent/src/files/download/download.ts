import { type BigIntStats, closeSync, constants, fstatSync, openSync, statSync } from "node:fs";
import { type AgentContext, type HttpCall, httpFailure } from "../../contracts.ts";
import { actingName, authorise, lookUpUser } from "../access.ts";
import { LIMITS } from "../limits.ts";
import { baseName, resolvePath } from "../path/resolve-path.ts";
import { errnoOf, fileError, statusOf } from "../sys/errno.ts";
import { chooseCoding } from "./accept-encoding.ts";
import { isConditional, validatorsOf } from "./conditional.ts";
import { SNIFF_BYTES, sniff, typeOfName } from "./content-type.ts";
import { contentDisposition } from "./disposition.ts";
import { readNow } from "./read-stream.ts";
import { type Found, sendGzip, sendIdentity, sendUnsized } from "./send.ts";

/** `GET /files` (docs/contract/agent.md, Files), checks in the order of the contract. `HEAD` answers the same without a body. */
export async function download(ctx: AgentContext, call: HttpCall): Promise<Response> {
  authorise(ctx, call, "read");
  const user = lookUpUser(ctx, actingName(ctx, call.query.get("username")));
  const path = resolvePath(ctx.state, user, call.query.get("path") ?? "");
  checkRegular(path);
  const { headers } = call.request;
  const choice = chooseCoding(headers.get("Accept-Encoding"));
  if (!choice) throw httpFailure(406, "no acceptable encoding found, supported: gzip, identity");
  const conditional = isConditional(headers);
  if (conditional && !choice.identityAllowed) throw httpFailure(406, "ranges and conditions need the identity encoding, which is refused");
  const found = open(path);
  // Clients need the Content-Length of an empty file, which a compressed answer does not have.
  const isPlain = conditional || (found.size === 0 && choice.identityAllowed);
  if (choice.coding === "gzip" && !isPlain) return sendGzip(found, call.request.method);
  return found.size === 0 ? sendUnsized(found, call.request) : sendIdentity(found, call.request);
}

/** Throws unless the path leads to a regular file. Called before the file is opened, because opening a device or a FIFO has effects. */
function checkRegular(path: string): void {
  let stat: ReturnType<typeof statSync>;
  try {
    stat = statSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") throw httpFailure(404, `path '${path}' does not exist`, error);
    throw fileError(`look at '${path}'`, error);
  }
  if (stat.isDirectory()) throw httpFailure(400, `path '${path}' is a directory`);
  if (!stat.isFile()) throw httpFailure(400, `path '${path}' is not a regular file`);
}

function open(path: string): Found {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw httpFailure(statusOf(error), `error opening file '${path}': ${errnoOf(error) ?? "failed"}`, error);
  }
  try {
    return describe(path, fd, fstatSync(fd, { bigint: true }));
  } catch (error) {
    throw fileError(`read '${path}'`, error);
  } finally {
    closeSync(fd);
  }
}

function describe(path: string, fd: number, stat: BigIntStats): Found {
  if (!stat.isFile()) throw httpFailure(400, `path '${path}' is not a regular file`);
  const name = baseName(path);
  const stated = Number(stat.size);
  const content = stated > 0 && stated <= LIMITS.wholeBytes ? readNow(fd, 0, stated) : undefined;
  // A file of `/sys` reports the size of a page, whatever it holds. Its real size is as unknown as that of a file of `/proc`, which reports 0.
  const size = content && content.length < stated ? 0 : stated;
  // A file of unknown size is not read here: its type follows from its name alone.
  const type = typeOfName(name) ?? (size === 0 ? "text/plain; charset=utf-8" : sniff(content ?? readNow(fd, 0, SNIFF_BYTES)));
  return { path, size, content, type, disposition: contentDisposition(name), validators: validatorsOf(stat) };
}
