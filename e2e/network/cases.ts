import type { NetworkOptions } from "@boxyard/sdk";
import type { Addresses } from "./world.ts";

/** Every kind of rule, one to a sandbox. */
export const policies = ({ C, networkOfD, N, private: inside, metadata, machine }: Addresses) =>
  ({
    open: {},
    exact: only("Allowed.example"),
    wildcard: only("*.Wild.example"),
    /** Closed networks stay closed, also to who allows them. */
    address: only(C, inside, metadata, machine),
    network: only(networkOfD),
    both: only("allowed.example", C),
    deny: { denyOut: [C, networkOfD] },
    none: { preset: "none" as const },
    packages: { preset: "packages" as const },
    rules: { rules: { "allowed.example": [{ transform: { headers: { "X-Added": "added" } } }] } },
    dns: { ...only("allowed.example"), dnsServers: [N] },
  }) satisfies Record<string, NetworkOptions>;

const only = (...allowOut: string[]) => ({ denyOut: ["0.0.0.0/0"], allowOut });

export type PolicyName = keyof ReturnType<typeof policies>;

/** What is tried: by HTTP, TLS, TCP and UDP to port 7000, UDP to port 443 (QUIC), questions to a name server, an echo request from a raw socket. */
export type Kind = "http" | "https" | "tcp" | "udp" | "quic" | "dns-udp" | "dns-tcp" | "ping";

export interface Case {
  readonly kind: Kind;
  /** Name that is asked for; for TLS in the server name, for HTTP in `Host`. */
  readonly host: string;
  /** Address to connect to, where it is not what the sandbox's name server says of the name. */
  readonly at?: string;
  /** What an attempt gets: the server that was reached, with the version of TLS and a header that was added. With other policies: nothing. */
  readonly gets: Readonly<Record<string, readonly PolicyName[]>>;
}

/** Policies that leave most open. */
const OPEN = ["open", "deny", "rules"] as const;
/** Policies that allow `allowed.example`. */
const NAMED = ["exact", "both", "dns"] as const;
/** Policies that let all of C through. */
const TO_C = ["open", "rules", "address", "both"] as const;
const TO_D = ["open", "rules", "network"] as const;

/** The table: kind × target × policy. */
export function cases(at: Addresses): Case[] {
  const { A, C, D, E, N } = at;
  const byAddress = (kind: Kind, address: string, gets: Case["gets"]): Case => ({ kind, host: address, at: address, gets });
  const closed = (kind: Kind, address: string): Case => byAddress(kind, address, {});
  return [
    { kind: "http", host: "allowed.example", gets: { "A plain": [...OPEN, ...NAMED] } },
    { kind: "https", host: "allowed.example", gets: { "A 1.3": ["open", "deny", ...NAMED], "A 1.3 added": ["rules"] } },
    { kind: "https", host: "ALLOWED.Example", gets: { "A 1.3": ["open", "deny", ...NAMED], "A 1.3 added": ["rules"] } },
    { kind: "https", host: "sub.allowed.example", gets: { "A 1.3": OPEN } },
    { kind: "https", host: "a.b.wild.example", gets: { "A 1.3": [...OPEN, "wildcard"] } },
    { kind: "https", host: "wild.example", gets: { "A 1.3": OPEN } },
    { kind: "https", host: "old.wild.example", gets: { "B 1.2": [...OPEN, "wildcard"] } },
    { kind: "https", host: "packages.example", gets: { "A 1.3": [...OPEN, "packages"] } },
    // Another name of the same address, as if a hosts file said so.
    { kind: "https", host: "denied.example", at: A, gets: { "A 1.3": OPEN } },
    { kind: "http", host: "denied.example", at: A, gets: { "A plain": OPEN } },
    // An allowed name that is said to be at another address: what the name server says holds.
    {
      kind: "https",
      host: "allowed.example",
      at: E,
      gets: { "E 1.3": ["open", "deny"], "A 1.3": NAMED, "A 1.3 added": ["rules"] },
    },
    { kind: "http", host: "allowed.example", at: E, gets: { "E plain": OPEN, "A plain": NAMED } },
    byAddress("https", A, { "A 1.3": OPEN }),
    byAddress("http", A, { "A plain": OPEN }),
    byAddress("https", C, { "C 1.3": TO_C }),
    byAddress("http", C, { "C plain": TO_C }),
    byAddress("tcp", C, { C: TO_C }),
    byAddress("udp", C, { C: TO_C }),
    byAddress("ping", C, { echo: TO_C }),
    byAddress("tcp", D, { D: TO_D }),
    byAddress("udp", D, { D: TO_D }),
    byAddress("tcp", E, { E: OPEN }),
    byAddress("udp", E, { E: OPEN }),
    byAddress("quic", A, { A: OPEN }),
    { kind: "dns-udp", host: "allowed.example", gets: { [A]: [...OPEN, ...NAMED] } },
    { kind: "dns-tcp", host: "allowed.example", gets: { [A]: [...OPEN, ...NAMED] } },
    { kind: "dns-udp", host: "denied.example", gets: { [A]: OPEN } },
    { kind: "dns-udp", host: "denied.example", at: N, gets: { [A]: [...OPEN, "dns"] } },
    { kind: "dns-tcp", host: "denied.example", at: N, gets: { [A]: [...OPEN, "dns"] } },
    // What is closed to every sandbox.
    { kind: "https", host: "private.wild.example", gets: {} },
    ...(["http", "https", "tcp", "udp", "ping"] as const).flatMap((kind) => [closed(kind, at.private), closed(kind, at.metadata)]),
    closed("http", "169.254.169.254"),
    ...(["http", "tcp", "udp"] as const).map((kind) => closed(kind, at.machine)),
  ];
}

/** Who can make an attempt of each kind. */
export const CLIENTS: Readonly<Record<string, readonly Kind[]>> = {
  curl: ["http", "https"],
  python: ["http", "https", "tcp", "udp", "quic", "dns-udp", "dns-tcp", "ping"],
  node: ["http", "https", "tcp", "udp"],
  go: ["http", "https", "tcp", "udp"],
};

export const expected = ({ gets }: Case, policy: PolicyName): string =>
  Object.entries(gets).find(([, names]) => names.includes(policy))?.[0] ?? "no";
