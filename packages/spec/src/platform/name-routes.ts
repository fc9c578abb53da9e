import { z } from "zod";
import { allowed } from "./access.ts";
import { SandboxPath } from "./common.ts";
import { body, errors, json, maxBody, none, operation, pathParam } from "./route-parts.ts";
import * as s from "./sandbox.ts";

const tags = ["Sandboxes"];
const NamePath = z.object({ sandboxName: pathParam("sandboxName") });

/** Names and sizes of sandboxes, which are Boxyard's own. */
export const nameRoutes = {
  getNamedSandbox: operation({
    method: "get",
    path: "/sandboxes/by-name/{sandboxName}",
    tags,
    ...allowed("read"),
    summary: "Get one sandbox by its name",
    description:
      "Every operation below `/sandboxes/{sandboxID}` and `/v2/sandboxes/{sandboxID}` is also at `/sandboxes/by-name/{sandboxName}` and `/v2/sandboxes/by-name/{sandboxName}`.",
    request: { params: NamePath },
    responses: { 200: json(s.SandboxDetail, "The sandbox"), ...errors(400, 404) },
  }),
  getOrCreateSandbox: operation({
    method: "put",
    path: "/sandboxes/by-name/{sandboxName}",
    tags,
    ...allowed("sandboxes"),
    summary: "Get the sandbox of this name, resume it if it is paused, or create it",
    description:
      "Of all requests for one name at once, one creates the sandbox and the others wait for it. With `setup` they also wait until the client that created it has prepared it: it renews its claim at `PUT /sandboxes/{sandboxID}/setup`, and ends it with `done`. A sandbox whose claim is not renewed in time is removed, and the next request creates another.",
    ...maxBody(4 << 20),
    request: { params: NamePath, body: body(s.NewNamedSandbox) },
    responses: {
      200: json(s.NamedSandbox, "The sandbox existed; it was resumed if it was paused"),
      201: json(s.NamedSandbox, "This request created the sandbox"),
      ...errors(400, 403, 404, 409, 413, 501, 504),
    },
  }),
  setUpSandbox: operation({
    method: "put",
    path: "/sandboxes/{sandboxID}/setup",
    tags,
    ...allowed("sandboxes"),
    summary: "Renew or end the claim of the client that prepares a sandbox",
    request: { params: SandboxPath, body: body(s.SandboxSetup) },
    responses: { 204: none("Done"), ...errors(400, 404) },
  }),
  resizeSandbox: operation({
    method: "patch",
    path: "/sandboxes/{sandboxID}/resources",
    tags,
    ...allowed("sandboxes"),
    summary: "Change the processors, memory and disk of a running sandbox, at once",
    request: { params: SandboxPath, body: body(s.SandboxResources) },
    responses: { 200: json(s.SandboxDetail, "The sandbox"), ...errors(400, 404, 409, 501) },
  }),
  updateSandbox: operation({
    method: "patch",
    path: "/sandboxes/{sandboxID}",
    tags,
    ...allowed("sandboxes"),
    summary: "Give a sandbox another name, or another idle time",
    request: { params: SandboxPath, body: body(s.SandboxUpdate) },
    responses: { 200: json(s.SandboxDetail, "The sandbox"), ...errors(400, 404, 409) },
  }),
} as const;
