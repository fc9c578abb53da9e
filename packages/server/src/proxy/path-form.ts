import type { RequestHead, ResponseEdit } from "@boxyard/http1";
import type { ExchangeEdit } from "./exchange-edit.ts";

/*
 * A port of a sandbox below `/ports/<id>/<port>/` has the origin of the API, and so have the ports of all other sandboxes. A browser separates
 * them only if their documents get no access to that origin: documents run in an origin of their own (no storage, no service worker, no
 * reading of other answers), and no field passes that a browser stores by host or origin.
 */

/** Fields that every client applies to the whole host, and so to other sandboxes and to the API. */
const OF_THE_HOST =
  /^(service-worker-allowed|clear-site-data|strict-transport-security|alt-svc|nel|report-to|reporting-endpoints|origin-agent-cluster)$/;
/** Fields that make browsers store cookies by host, or ask a person for the password of the host. Programs manage cookies themselves, so they get these fields. */
const KEPT_BY_BROWSERS = /^(set-cookie|www-authenticate)$/;
const SANDBOXED = "Content-Security-Policy: sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads\r\n";

const added = () => SANDBOXED;
const TO_PROGRAMS: ResponseEdit = { keeps: (name) => !OF_THE_HOST.test(name), added };
const TO_BROWSERS: ResponseEdit = { keeps: (name) => !OF_THE_HOST.test(name) && !KEPT_BY_BROWSERS.test(name), added };

const FOR_PROGRAMS: ExchangeEdit = { response: TO_PROGRAMS, takesUpgrade: true };
const FOR_BROWSERS: ExchangeEdit = { response: TO_BROWSERS, drops: ["cookie"], takesUpgrade: true };

/** All browsers call themselves Mozilla. A program that does so too counts as a browser. */
const isBrowser = ({ fields }: RequestHead) =>
  /^mozilla\//i.test(fields.get("user-agent") ?? "") || fields.get("sec-fetch-site") !== undefined;

/** The edit of a request that names its sandbox in its path. */
export function editByPath(request: RequestHead): ExchangeEdit {
  return isBrowser(request) ? FOR_BROWSERS : FOR_PROGRAMS;
}
