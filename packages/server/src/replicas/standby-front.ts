import type { SandboxId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ClientConnection, Exchange, RequestHead } from "@boxyard/http1";
import type { ProxyProblem } from "../proxy/answers.ts";
import { dispatch, FORWARDED_FIELDS } from "../proxy/dispatch.ts";
import { Front, type FrontOptions } from "../proxy/front.ts";
import { NOT_PASSED_ON } from "../proxy/passed-on.ts";
import { ProxyExchange } from "../proxy/proxy-exchange.ts";
import { Flights, type Route, RouteTable } from "../proxy/route-table.ts";
import { ForwardExchange } from "./forward-exchange.ts";
import type { OwnerPlace, OwnerPlaceView } from "./owner-place.ts";
import type { ClientFacts, ReplicaSeal } from "./replica-seal.ts";

/** Where a replica says what it is. */
const ROLE_PATH = "/replica";
/** A replica that has just started, and one that knew it as the owner before, pass a request on to each other once at most. */
const MOST_PASSES = 2;

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
  /** By what replicas know the requests that one of them has passed on. */
  readonly seal: ReplicaSeal;
}

/** The front of a replica that does not own the sandboxes: it passes every request on to the owner, as it is. */
export class StandbyFront extends Front {
  override readonly names = FORWARDED_FIELDS;
  private readonly view: OwnerPlaceView;
  private readonly role: StandbyOptions["role"];
  private readonly seal: ReplicaSeal;
  private readonly logger: Logger;
  private warnedOf = 0;
  private route: Route | undefined;

  constructor(options: StandbyOptions) {
    super({ ...options, routes: new RouteTable(), api: () => Promise.reject(new Error("a replica in waiting has no API")) });
    this.view = options.view;
    this.role = options.role;
    this.seal = options.seal;
    this.logger = options.logger;
  }

  override exchange(request: RequestHead, client: ClientConnection): Exchange {
    const role = this.role();
    const passes = this.seal.passesOf(request);
    if (passes === undefined) return this.refuse(request, client, NOT_PASSED_ON);
    if (isForRole(request)) return this.answerRole(request, client, role ?? "standby");
    if (passes >= MOST_PASSES && role === "standby") return this.refuse(request, client, NO_OWNER);
    // The owner alone knows who is let in: it says so by its answer.
    const onAnswer = (status: number) => {
      if (status < 400) client.trust();
    };
    const connect = (place: OwnerPlace, onUnreached: (early: readonly Buffer[]) => void) => {
      const edit = {
        takesUpgrade: true,
        drops: this.seal.replaced,
        added: this.seal.linesFor(request, passes + 1, factsOf(request, client, passes > 0)),
        problem: OWNER_LOST,
        onAnswer,
        onUnreached: (early: readonly Buffer[], error: unknown) => {
          this.warn(place, error);
          onUnreached(early);
        },
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

  private warn(place: OwnerPlace, err: unknown): void {
    if (this.warnedOf === place.epoch) return;
    this.warnedOf = place.epoch;
    this.logger.warn({ err, host: place.host, port: place.port }, "the owner of the sandboxes is not reached");
  }

  /** The owner as a place of the proxy's; requests to earlier owners go on as long as these answer. */
  private routeTo({ epoch, host, port, tls }: OwnerPlace): Route {
    if (this.route?.incarnation === epoch) return this.route;
    const flights = new Flights(() => this.now());
    const sandboxId = "owner" as SandboxId;
    this.route = {
      sandboxId,
      incarnation: epoch,
      host,
      agentPort: port,
      tls,
      accessToken: "",
      flights,
      agentAnswers: 0,
      ending: undefined,
    };
    return this.route;
  }
}

/** True for `GET /replica`, which each replica answers itself. */
export const isForRole = (request: RequestHead): boolean =>
  request.target === ROLE_PATH && request.method === "GET" && dispatch(request).kind === "api";

/** What the owner has to know of the client, whose connection ends here. A replica has said it already of a request that it has passed on. */
function factsOf({ fields }: RequestHead, { connection }: ClientConnection, isPassedOn: boolean): ClientFacts {
  const hops = fields.all("x-forwarded-for");
  const [proto, host] = [fields.get("x-forwarded-proto"), fields.get("x-forwarded-host")];
  if (isPassedOn) return { addresses: hops.join(", "), proto, host };
  return { addresses: [...hops, connection.remoteAddress].join(", "), proto: connection.tls ? "https" : proto, host };
}
