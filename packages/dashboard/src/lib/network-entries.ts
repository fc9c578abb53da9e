/** A line of a list of what a sandbox may reach, that the server would not take. */
export interface WrongLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
  readonly why: string;
}

type Kind = "address" | "network" | "domain";

const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i;
const LONGEST_DOMAIN = 253;
const MOST_LINES = 256;

/** The lines that say something, without the space around them. */
export const entriesOf = (text: string): string[] => text.split("\n").flatMap((line) => line.trim() || []);

/** What an entry is; undefined: neither. The server decides in the end, and knows more: which networks are closed to every sandbox. */
export function kindOf(entry: string): Kind | undefined {
  const [address = "", bits, ...more] = entry.split("/");
  if (isAddress(address) && more.length === 0) {
    if (bits === undefined) return "address";
    return /^\d{1,2}$/.test(bits) && Number(bits) <= 32 ? "network" : undefined;
  }
  return isDomain(entry) ? "domain" : undefined;
}

function isAddress(text: string): boolean {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

/** `example.com`, `*.example.com`, or `*` for all. */
function isDomain(text: string): boolean {
  if (text === "*") return true;
  const labels = text.replace(/^\*\./, "").replace(/\.$/, "").split(".");
  // The last part of a domain is no number: `1.2.3` and `300.1.1.1` are addresses with a typing error.
  return (
    text.length <= LONGEST_DOMAIN && labels.length > 1 && labels.every((label) => LABEL.test(label)) && !/^\d+$/.test(labels.at(-1) ?? "")
  );
}

/** The first line that cannot be an entry; undefined if all can. `domains`: whether names of hosts can stand in this list. */
export function wrongLine(text: string, domains: boolean): WrongLine | undefined {
  const lines = text.split("\n").map((line, index) => ({ number: index + 1, text: line.trim() }));
  const entries = lines.filter((line) => line.text !== "");
  const extra = entries[MOST_LINES];
  if (extra) return { ...extra, why: `there may be ${MOST_LINES} entries at most` };
  for (const line of entries) {
    const kind = kindOf(line.text);
    if (kind === undefined) return { ...line, why: whyNone(line.text, domains) };
    if (kind === "domain" && !domains) {
      return { ...line, why: "a domain cannot be denied, only addresses and networks; choose 'Only what is allowed' and allow the others" };
    }
  }
  return undefined;
}

function whyNone(text: string, domains: boolean): string {
  if (/^[a-z]+:\/\//i.test(text)) return "it is a link: leave the protocol and the path away";
  if (/[\s,;]/.test(text)) return "it has more than one word: write one entry in a line";
  if (/:.*:/.test(text)) return "it is IPv6, which sandboxes have not";
  if (/:\d+$/.test(text)) return "it has a port: rules are for all ports";
  return domains
    ? "it is no IPv4 address (203.0.113.7), no network (203.0.113.0/24) and no domain (example.com, *.example.com)"
    : "it is no IPv4 address (203.0.113.7) and no network (203.0.113.0/24)";
}

/** The sentence for a person. */
export const wordsFor = (list: string, { number, text, why }: WrongLine): string =>
  `${list}, line ${number} ('${text.slice(0, 60)}'): ${why}.`;
