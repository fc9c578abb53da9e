import type { ResponseEdit } from "@boxyard/http1";
import type { ExchangeEdit } from "./exchange-edit.ts";

/*
 * A signed file URL that names no sandbox has the API's own origin, and so has the document that a browser makes of its answer. The sandbox
 * determines the answer, so the answer must not run as a page of this origin, nor set what browsers store for this origin.
 */

/** Fields that describe a file; all others (cookies, redirects, policies, prompts for passwords) are dropped. */
const KEPT =
  /^(content-(type|length|range|encoding|language)|accept-ranges|etag|last-modified|date|age|expires|cache-control|vary|access-control-(allow-(origin|methods|headers)|expose-headers|max-age)|x-request-id)$/;
/** Types that browsers show without running code in them. */
const SHOWN = /^(text\/plain|application\/json|image\/(png|jpeg|gif|webp|avif|bmp)|(audio|video)\/[a-z0-9.+-]+) *(;|$)/i;
const DISPOSITION = /^(inline|attachment)((?:;[\x20-\x7e]*)?)$/i;

/** The edit of a sandbox's answer on the API's origin. */
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

/** A browser sends the credentials that it stores for this origin with every request; the sandbox must not get them. The signature is enough for the URL. */
export const ON_OUR_ORIGIN: ExchangeEdit = { response: SHOWN_THERE, drops: ["cookie", "authorization", "x-api-key"] };
