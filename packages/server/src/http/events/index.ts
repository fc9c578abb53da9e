import { AppError } from "@boxyard/core";
import { routes } from "@boxyard/spec/platform";
import type { EventFeed } from "../../feed/event-feed.ts";
import { present } from "../../feed/public-event.ts";
import type { Credentials } from "../../keys/credentials.ts";
import type { EventFilter } from "../../store/index.ts";
import { json } from "../responses.ts";
import { type Api, mount, type RouteHandler } from "../route.ts";

/** What the handlers of events use. */
export interface EventServices {
  readonly credentials: Credentials;
  readonly feed: EventFeed;
}

type HandlerOf<R> = RouteHandler<EventServices, R>;

const listEvents: HandlerOf<typeof routes.listEvents> = async ({ caller, query }, { feed }) => {
  const { order, limit, cursor } = query;
  const events = await feed.page(caller.teamId, { order, cursor }, limit, filterOf(query));
  return json(200, { events: events.map(present), cursor: events.at(-1)?.cursor ?? cursor ?? 0 });
};

const streamEvents: HandlerOf<typeof routes.streamEvents> = async ({ caller, query, header, signal }, { feed }) => {
  const after = lastEventOf(header("last-event-id")) ?? query.cursor;
  const stream = await feed.stream(caller.teamId, { after, filter: filterOf(query), signal }, (event) => {
    const { id, ...rest } = present(event);
    return `id: ${id}\nevent: ${event.action}\ndata: ${JSON.stringify({ id, ...rest })}\n\n`;
  });
  return new Response(stream, { headers: { "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no" } });
};

function filterOf({ action, targetID }: { readonly action?: string | undefined; readonly targetID?: string | undefined }): EventFilter {
  return { ...(action !== undefined && { action }), ...(targetID !== undefined && { targetId: targetID }) };
}

function lastEventOf(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AppError("invalid_argument", "Last-Event-ID: must be the id of an event", { reason: "invalid_cursor" });
}

export function mountEvents(app: Api, services: EventServices): void {
  mount(app, services, routes.listEvents, listEvents);
  mount(app, services, routes.streamEvents, streamEvents);
}
