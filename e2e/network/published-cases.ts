import type { Addresses } from "./world.ts";

/** A sandbox of a published client with these options of its network, and what its commands print: in turn, and again after a pause. */
export interface PublishedCase {
  readonly name: string;
  readonly network: {
    readonly allowOut?: readonly string[];
    readonly denyOut?: readonly string[];
    readonly rules?: Readonly<Record<string, unknown>>;
  };
  readonly prints: readonly (readonly [command: string, output: string])[];
  readonly pauses?: boolean;
}

const NO = "no";
/** Asks as the machine inside resolves the name, or at an address that is given. */
const ask = (url: string, at?: string) =>
  `curl -s --max-time 20 ${at ? `--connect-to ${new URL(url).hostname}::${at}: ` : ""}${url} || echo -n ${NO}`;
const resolve = (name: string) => `getent ahostsv4 ${name} >/tmp/resolved && echo -n found || echo -n ${NO}`;
/** By a hosts file of the sandbox's own. */
const forged = (name: string, address: string) =>
  `cp /etc/hosts /tmp/hosts; echo ${address} ${name} >>/etc/hosts; ${ask(`https://${name}/`)}; cp /tmp/hosts /etc/hosts`;

const [EXACT, SUB, OTHER, WILD, BARE] = [
  "allowed.example",
  "sub.allowed.example",
  "denied.example",
  "a.b.wild.example",
  "wild.example",
].map((name) => `https://${name}/`) as [string, string, string, string, string];

const denyOut = ["0.0.0.0/0"];
const only = (...allowOut: string[]) => ({ denyOut, allowOut });

/** Domains: exact, with subdomains, and what is near to them. */
const namedCases = ({ A, E }: Addresses): PublishedCase[] => [
  {
    name: "all is open by default",
    network: {},
    prints: [
      [ask(EXACT), "A 1.3"],
      [ask(`http://${E}/`), "E plain"],
    ],
  },
  {
    name: "all is denied",
    network: { denyOut },
    prints: [
      [ask(EXACT, A), NO],
      [ask(`http://${A}/`), NO],
      [resolve("allowed.example"), NO],
    ],
  },
  {
    name: "an exact domain",
    network: only("allowed.example"),
    prints: [
      [ask(EXACT), "A 1.3"],
      [ask("http://allowed.example/"), "A plain"],
    ],
  },
  {
    name: "an exact domain is not its subdomains",
    network: only("allowed.example"),
    prints: [
      [ask(SUB), NO],
      [ask(SUB, A), NO],
    ],
  },
  {
    name: "another name of an allowed address",
    network: only("allowed.example"),
    prints: [
      [ask(OTHER, A), NO],
      [ask("http://denied.example/", A), NO],
    ],
  },
  {
    name: "a wildcard",
    network: only("*.wild.example"),
    prints: [
      [ask(WILD), "A 1.3"],
      [ask("https://old.wild.example/"), "B 1.2"],
    ],
  },
  {
    name: "a wildcard is not the name below which it is",
    network: only("*.wild.example"),
    prints: [
      [ask(BARE, A), NO],
      [ask(EXACT, A), NO],
    ],
  },
  {
    name: "the case of names does not count",
    network: only("ALLOWED.Example"),
    prints: [
      [ask(EXACT), "A 1.3"],
      [ask("https://Allowed.EXAMPLE/"), "A 1.3"],
    ],
  },
];

/** Addresses, networks, and domains beside them. */
const addressedCases = ({ A, C, D, E, networkOfD }: Addresses): PublishedCase[] => [
  {
    name: "a domain and an address",
    network: only("allowed.example", C),
    prints: [
      [ask(EXACT), "A 1.3"],
      [ask(`http://${C}/`), "C plain"],
      [ask(`http://${E}/`), NO],
    ],
  },
  {
    name: "HTTPS by an allowed address, without a name",
    network: only(C),
    prints: [
      [ask(`https://${C}/`), "C 1.3"],
      [ask(`https://${E}/`), NO],
    ],
  },
  {
    name: "HTTPS by the address of an allowed name, without a name",
    network: only("allowed.example"),
    prints: [[ask(`https://${A}/`), NO]],
  },
  {
    name: "a network",
    network: only(networkOfD),
    prints: [
      [ask(`http://${D}/`), "D plain"],
      [ask(`http://${E}/`), NO],
    ],
  },
  {
    name: "a denied address",
    network: { denyOut: [C] },
    prints: [
      [ask(`http://${C}/`), NO],
      [ask(`http://${E}/`), "E plain"],
    ],
  },
  {
    name: "what is allowed beats what is denied",
    network: { denyOut: [networkOfD, C], allowOut: [D] },
    prints: [
      [ask(`http://${D}/`), "D plain"],
      [ask(`http://${C}/`), NO],
    ],
  },
  { name: "a forged answer for an allowed name", network: only("allowed.example"), prints: [[forged("allowed.example", E), "A 1.3"]] },
  { name: "a forged answer for a denied name", network: only("allowed.example"), prints: [[forged("denied.example", A), NO]] },
];

/** What is forged, what resolves, what a pause keeps, and what is set on the way. */
const otherCases = ({ A }: Addresses): PublishedCase[] => [
  {
    name: "denied names do not resolve",
    network: only("allowed.example"),
    prints: [
      [resolve("allowed.example"), "found"],
      [resolve("denied.example"), NO],
    ],
  },
  {
    name: "every name",
    network: only("*"),
    prints: [
      [ask(OTHER), "A 1.3"],
      [ask(`https://${A}/`), NO],
    ],
  },
  {
    name: "domains after a pause",
    network: only("allowed.example", "*.wild.example"),
    pauses: true,
    prints: [
      [ask(EXACT), "A 1.3"],
      [ask(WILD), "A 1.3"],
      [ask(OTHER, A), NO],
    ],
  },
  {
    name: "a header that is set outside",
    network: { ...only("allowed.example"), rules: { "allowed.example": [{ transform: { headers: { "X-Added": "outside" } } }] } },
    pauses: true,
    prints: [
      [ask(EXACT), "A 1.3 outside"],
      [`curl -s -H 'X-Added: inside' ${EXACT}`, "A 1.3 outside"],
      [ask(OTHER, A), NO],
    ],
  },
];

/** What users of a firewall for the way out expect, one to a sandbox. */
export const publishedCases = (at: Addresses): PublishedCase[] => [...namedCases(at), ...addressedCases(at), ...otherCases(at)];

/** Options that a running sandbox gets one after the other. */
export function publishedUpdates({ A, C, E }: Addresses): PublishedCase[] {
  return [
    {
      name: "to one domain",
      network: { denyOut, allowOut: ["allowed.example"] },
      prints: [
        [ask(EXACT), "A 1.3"],
        [ask(WILD, A), NO],
      ],
    },
    {
      name: "to another domain",
      network: { denyOut, allowOut: ["*.wild.example"] },
      prints: [
        [ask(EXACT, A), NO],
        [ask(WILD), "A 1.3"],
      ],
    },
    {
      name: "to an address",
      network: { denyOut, allowOut: [C] },
      prints: [
        [ask(WILD, A), NO],
        [ask(`http://${C}/`), "C plain"],
      ],
    },
    {
      name: "to nothing",
      network: {},
      prints: [
        [ask(EXACT), "A 1.3"],
        [ask(`http://${E}/`), "E plain"],
      ],
    },
  ];
}
