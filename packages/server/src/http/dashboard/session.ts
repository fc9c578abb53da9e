import { AppError, VERSION } from "@boxyard/core";
import { z } from "zod";
import type { DashboardSessions, NewSession } from "../../dashboard/sessions.ts";
import { parseAs, readJson } from "../body.ts";
import { publicUrl } from "../public-url.ts";
import { json, noContent } from "../responses.ts";
import type { Api } from "../route.ts";
import { checkOwnPage, cookieName, PAGE_TOKEN, readCookie, setCookie } from "./own-page.ts";
import type { Files } from "./page.ts";
import type { DashboardServices } from "./services.ts";

const MAX_BODY_BYTES = 4096;
const SignIn = z.union([z.object({ apiKey: z.string().min(1).max(200) }), z.object({ link: z.string().min(1).max(200) })]);

/** Sign-in, sign-out, and what the page must know about its session. */
export function mountSession(app: Api, services: DashboardServices, files: Pick<Files, "directory">): void {
  const { config, keys, sessions } = services;
  const cookie = cookieName(config.dataDir);
  const isSecure = (header: (name: string) => string | undefined) => publicUrl(config, header).startsWith("https:");

  app.post("/dashboard/own/session", async (c) => {
    const header = (name: string) => c.req.header(name);
    checkOwnPage(header);
    const wish = parseAs(SignIn, readJson(await c.env.body(MAX_BODY_BYTES)), "body");
    const session = await begin(sessions, wish);
    return json(201, { pageToken: session.pageToken }, { "Set-Cookie": setCookie(cookie, session.cookie, isSecure(header)) });
  });

  app.get("/dashboard/own/session", async (c) => {
    const header = (name: string) => c.req.header(name);
    checkOwnPage(header);
    const caller = await sessions.callerOf(readCookie(header, cookie), header(PAGE_TOKEN));
    const own = (await keys.list(caller.teamId)).find(({ id }) => id === caller.keyId);
    return json(200, { version: VERSION, key: { id: caller.keyId, name: own?.name ?? "" }, ...addressOf(services, header) });
  });

  app.delete("/dashboard/own/session", (c) => {
    const header = (name: string) => c.req.header(name);
    checkOwnPage(header);
    sessions.signOut(readCookie(header, cookie) ?? "");
    const gone = noContent();
    gone.headers.set("Set-Cookie", setCookie(cookie, "", isSecure(header)));
    return gone;
  });

  app.post("/dashboard/own/links", async (c) => {
    const apiKey = c.req.header("x-api-key");
    if (!apiKey)
      throw new AppError("unauthenticated", "The API key is missing: send it in the header X-API-Key", { reason: "api_key_missing" });
    // While the files are being made, a browser would show another page, and the link would grow old.
    await files.directory();
    // The secret is behind `#`: no log and no other server gets it.
    const url = `${publicUrl(config, (name) => c.req.header(name))}/dashboard/sign-in#${await sessions.makeLink(apiKey)}`;
    return json(201, { url });
  });
}

function begin(sessions: DashboardSessions, wish: z.output<typeof SignIn>): Promise<NewSession> {
  return "link" in wish ? sessions.openLink(wish.link) : sessions.signIn(wish.apiKey);
}

/** Where clients and ports of sandboxes are reached. */
function addressOf({ config }: Pick<DashboardServices, "config">, header: (name: string) => string | undefined) {
  const url = publicUrl(config, header);
  return { url, ...(config.domain !== undefined && { domain: config.domain }) };
}
