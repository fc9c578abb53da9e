import { AppError } from "@boxyard/core";
import type { HttpRoute } from "../contracts.ts";
import type { Journal } from "../process/journal.ts";

/** `GET /boxyard/journal?after=N`: starts and ends of commands and lines of the agent after the one with this number, oldest first. */
export function journalRoute(journal: Journal): HttpRoute {
  return {
    method: "GET",
    path: "/boxyard/journal",
    access: "token",
    handle: ({ query }) => {
      const after = query.get("after") ?? "0";
      if (!/^\d{1,15}$/.test(after)) throw new AppError("invalid_argument", "after must be a number", { reason: "bad_after" });
      return Response.json(journal.after(Number(after)), { headers: { "Cache-Control": "no-store" } });
    },
  };
}
