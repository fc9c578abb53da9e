import type { ResponseEdit } from "@boxyard/http1";
import type { ExchangeEdit } from "./exchange-edit.ts";

/*
 * A signed file URL that names no sandbox is on the API's own origin, and so is what a browser shows of it. The sandbox says what the answer
 * is: it must not run as a page of ours, nor set what browsers keep for this origin.
 */

/** What is said of a file; everything else (cookies, redirects, policies, prompts for passwords) is left out. */
const KEPT =
  /^(content-(type|length|range|encoding|language)|accept-ranges|etag|last-modified|date|age|expires|cache-control|vary|access-control-(allow-(origin|methods|headers)|expose-headers|max-age)|x-request-id)$/;
/** Types that browsers show and do not run. */
const SHOWN = /^(text\/plain|application\/json|image\/(png|jpeg|gif|webp|avif|bmp)|(audio|video)\/[a-z0-9.+-]+) *(;|$)/i;
const DISPOSITION = /^(inline|attachment)((?:;[\x20-\x7e]*)?)$/i;

/** What the client gets of a sandbox's answer on our own origin. */
const SHOWN_THERE: ResponseEdit = {
  keeps: (name) => KEPT.test(name),
  added(fields) {
    const types = fields.all("content-type");
    const isShown = types.length === 1 && SHOWN.test(types[0] ?? "");
    const [, kind = "inline", parameters = ""] = DISPOSITION.exec(fields.get("content-disposition") ?? "") ?? [];
    const disposition = isShown ? kind : "attachment";
    return (
      `Content-Disposition: ${disposition}${parameters}\r\n` +
      "X-Content-Type-Options: nosniff\r\n" +
      "Content-Security-Policy: sandbox\r\n"
    );
  },
};

/** A browser sends along what it keeps for this origin; the sandbox learns nothing of it. The signature is all that the URL needs. */
export const ON_OUR_ORIGIN: ExchangeEdit = { response: SHOWN_THERE, drops: ["cookie", "authorization", "x-api-key"] };
