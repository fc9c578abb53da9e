import { createHmac, timingSafeEqual } from "node:crypto";
import type { RequestHead } from "@boxyard/http1";

/** How often a request was passed on, and the seal of the replica that did it last. The proxy passes no fields of this form to sandboxes. */
const FIELD = "x-forwarded-by-replica";
/** What the sender says of the client. The seal covers these fields, and they replace those that the client has sent. */
const OF_CLIENT = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] as const;
const VALUE = /^(\d{1,3}) ([0-9a-f]{64})$/;

/** What is known of the client of a request; undefined: nothing. */
export type ClientFacts = Readonly<Record<"addresses" | "proto" | "host", string | undefined>>;

/**
 * By what replicas know the requests that another one of them has passed on: an HMAC with a key that is derived from the store's, over how often, method,
 * target, host, and what is said of the client. Who reads the traffic can send such a request again, and nobody else can make one.
 */
export class ReplicaSeal {
  /** Fields of a client that are not passed on: the sender writes its own. */
  readonly replaced: readonly string[] = [...OF_CLIENT, FIELD];
  private readonly key: Uint8Array;

  constructor(key: Uint8Array) {
    this.key = key;
  }

  /** The lines for a request that is passed on for the time `passes`. */
  linesFor({ method, target, host }: Pick<RequestHead, "method" | "target" | "host">, passes: number, client: ClientFacts): string {
    const values = [client.addresses, client.proto, client.host].map((value) => (value === undefined ? [] : [value]));
    const seal = this.seal([passes, method, target, host, ...values]).toString("hex");
    const lines = OF_CLIENT.flatMap((name, at) => (values[at] ?? []).map((value) => `${name}: ${value}\r\n`));
    return `${lines.join("")}${FIELD}: ${passes} ${seal}\r\n`;
  }

  /** How often replicas have passed a request on; 0 for one that does not say so. Undefined: it says so, and no replica has sealed it. */
  passesOf({ method, target, host, fields }: Pick<RequestHead, "method" | "target" | "host" | "fields">): number | undefined {
    const said = fields.all(FIELD);
    if (said.length === 0) return 0;
    const [, passes = "", seal = ""] = (said.length === 1 && VALUE.exec(said[0] ?? "")) || [];
    if (seal === "") return undefined;
    const wanted = this.seal([Number(passes), method, target, host, ...OF_CLIENT.map((name) => fields.all(name))]);
    return timingSafeEqual(wanted, Buffer.from(seal, "hex")) && Number(passes) > 0 ? Number(passes) : undefined;
  }

  private seal(what: readonly unknown[]): Buffer {
    return createHmac("sha256", this.key).update(JSON.stringify(what)).digest();
  }
}
