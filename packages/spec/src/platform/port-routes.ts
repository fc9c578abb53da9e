import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { SandboxPath } from "./common.ts";
import { errors, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["Ports"];
const PortPath = SandboxPath.extend({ port: pathParam("port") });

const MAX_DAYS = 7;
const PortUrlQuery = z.object({
  expires: z.coerce
    .number()
    .int("must be a whole number of seconds")
    .min(1, "must be at least 1")
    .max(MAX_DAYS * 24 * 3600, `must be at most ${MAX_DAYS * 24 * 3600}`)
    .default(3600)
    .meta({ description: "Seconds from now" }),
});

const PortUrl = z
  .object({
    url: z.string().meta({ description: "Everybody who has it reaches this port of this sandbox, and no other" }),
    expiresAt: z.iso.datetime(),
    isPublic: z
      .boolean()
      .meta({ description: "true: the sandbox was made with public ports, which everybody reaches without the link too" }),
  })
  .meta(named("PortUrl"));

/** Links to private ports, which are Boxyard's own. */
export const portRoutes = {
  getPortUrl: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/ports/{port}/url",
    tags,
    ...allowed("sandboxes"),
    summary: "Make a link to one port of a sandbox, for a time",
    description:
      "Browsers and programs reach the port by it without the traffic token. It wakes a paused sandbox as the token does. See docs/contract/routing.md.",
    request: { params: PortPath, query: PortUrlQuery },
    responses: { 200: json(PortUrl, "The link"), ...errors(400, 404) },
  }),
  withdrawPortUrls: operation({
    method: "delete",
    path: "/sandboxes/{sandboxID}/ports/{port}/url",
    tags,
    ...allowed("sandboxes"),
    summary: "Withdraw all links to one port of a sandbox, and cut what they have open",
    request: { params: PortPath },
    responses: { 204: none("Withdrawn"), ...errors(400, 404) },
  }),
};
