import type { SandboxId } from "@boxyard/core";
import type { ClientConnection, Exchange, RequestHead } from "@boxyard/http1";
import type { ProxyProblem } from "../proxy/answers.ts";
import { dispatch, FORWARDED_FIELDS } from "../proxy/dispatch.ts";
import { Front, type FrontOptions } from "../proxy/front.ts";
import { ProxyExchange } from "../proxy/proxy-exchange.ts";
import { Flights, type Route, RouteTable } from "../proxy/route-table.ts";
import { ForwardExchange } from "./forward-exchange.ts";
import type { OwnerPlace, OwnerPlaceView } from "./owner-place.ts";

/** Where a replica says what it is. */
const ROLE_PATH = "/replica";
/** The replicas' mark, and how many of them have passed the request on. The proxy passes no fields of this form to sandboxes. */
const PASSED_ON = "x-forwarded-by-replica";
/** A replica that has just started, and one that knew it as the owner before, pass a request on to each other once at most. */
const MOST_PASSES = 2;
const REPLACED = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host", PASSED_ON];

const problem = (message: string, reason: string): ProxyProblem => ({
  status: 503,
  retryAfter: 1,
  body: { code: 503, message, error_code: reason },
  page: { title: "Try again in a moment", text: message },
});
const NO_OWNER = problem("No replica owns the sandboxes now. Try again in a moment.", "no_owner");
const OWNER_LOST = problem(
  "The replica that worked on the request was lost, perhaps after its effect. Look at the result, or send the request again.",
  "owner_lost",
);

export type Role = "owner" | "standby" | "lapsed";

export interface StandbyOptions extends Omit<FrontOptions, "routes" | "api"> {
  readonly view: OwnerPlaceView;
  /** What this replica is now; undefined: it starts to be the owner. */
  readonly role: () => Role | undefined;
  /** What the replicas know each other by: a client that says it was passed on counts as any other. */
  readonly mark: string;
}

/** The front of a replica that does not own the sandboxes: it passes every request on to the owner, as it is. */
export class StandbyFront extends Front {
  override readonly names = FORWARDED_FIELDS;
  private readonly view: OwnerPlaceView;
  private readonly role: StandbyOptions["role"];
  private readonly mark: string;
  private route: Route | undefined;

  constructor(options: StandbyOptions) {
    super({ ...options, routes: new RouteTable(), api: () => Promise.reject(new Error("a replica in waiting has no API")) });
    this.view = options.view;
    this.role = options.role;
    this.mark = options.mark;
  }

  override exchange(request: RequestHead, client: ClientConnection): Exchange {
    const role = this.role();
    if (isForRole(request)) return this.answerRole(request, client, role ?? "standby");
    const passes = passesOf(request, this.mark);
    if (passes >= MOST_PASSES && role === "standby") return this.refuse(request, client, NO_OWNER);
    // The owner alone knows who is let in: it says so by its answer.
    const onAnswer = (status: number) => {
      if (status < 400) client.trust();
    };
    const connect = (place: OwnerPlace, onUnreached: (early: readonly Buffer[]) => void) => {
      const edit = {
        takesUpgrade: true,
        drops: REPLACED,
        added: forwardedFields(request, client, `${this.mark} ${passes + 1}`),
        problem: OWNER_LOST,
        onAnswer,
        onUnreached,
      };
      const exchange = new ProxyExchange(request, client, this.routeTo(place), place.port, this.pool, edit);
      exchange.start();
      return exchange;
    };
    const exchange = new ForwardExchange(client, this.view, connect, () => this.refuse(request, client, NO_OWNER));
    exchange.start();
    return exchange;
  }

  private answerRole(request: RequestHead, client: ClientConnection, role: Role): Exchange {
    return this.answerJson(request, client, { role, epoch: this.view.current?.epoch ?? 0 });
  }

  /** The owner as a place of the proxy's; requests to earlier owners go on as long as these answer. */
  private routeTo({ epoch, host, port }: OwnerPlace): Route {
    if (this.route?.incarnation === epoch) return this.route;
    const flights = new Flights(() => this.now());
    const sandboxId = "owner" as SandboxId;
    this.route = { sandboxId, incarnation: epoch, host, agentPort: port, accessToken: "", flights, agentAnswers: 0, ending: undefined };
    return this.route;
  }
}

/** True for `GET /replica`, which each replica answers itself. */
export const isForRole = (request: RequestHead): boolean =>
  request.target === ROLE_PATH && request.method === "GET" && dispatch(request).kind === "api";

/** 0 for a value without the mark, which no replica has sent. */
function passesOf({ fields }: RequestHead, mark: string): number {
  const [by, passes = ""] = (fields.get(PASSED_ON) ?? "").split(" ");
  return by === mark && /^\d{1,3}$/.test(passes) ? Number(passes) : 0;
}

/** What the owner has to know of the client, whose connection ends here. */
function forwardedFields({ fields }: RequestHead, { connection }: ClientConnection, passed: string): string {
  const hops = [...fields.all("x-forwarded-for"), connection.remoteAddress].join(", ");
  const proto = connection.tls ? "https" : fields.get("x-forwarded-proto");
  const host = fields.get("x-forwarded-host");
  const line = (name: string, value: string | undefined) => (value === undefined ? "" : `${name}: ${value}\r\n`);
  return (
    line("X-Forwarded-For", hops) +
    line("X-Forwarded-Proto", proto) +
    line("X-Forwarded-Host", host) +
    line("X-Forwarded-By-Replica", passed)
  );
}
