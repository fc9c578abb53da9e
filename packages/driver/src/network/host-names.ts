import { isIP } from "node:net";

/** Longest name of a host, and longest label of one, in bytes (RFC 1035, 2.3.4). */
const MAX_NAME = 253;
const MAX_LABEL = 63;
/** What a name may hold before it is brought into ASCII: anything but what would give a URL another part than its host. */
const NOT_IN_NAMES = /[\s/\\:@?#%[\]*]/;
const LABEL = /^[a-z0-9_-]+$/;

/**
 * A host's name as names are compared: lower case, ASCII (internationalised names in their form for DNS, RFC 5891), without the final dot. Undefined for
 * what is no name, an address among others.
 */
export function canonicalHost(text: string): string | undefined {
  const bare = text.endsWith(".") ? text.slice(0, -1) : text;
  if (bare === "" || bare.length > MAX_NAME || NOT_IN_NAMES.test(bare)) return undefined;
  const url = URL.parse(`http://${bare}/`);
  if (!url) return undefined;
  const name = url.hostname;
  if (isIP(name) !== 0 || name.length > MAX_NAME) return undefined;
  const labels = name.split(".");
  const isName = labels.every((label) => label.length <= MAX_LABEL && LABEL.test(label) && !label.startsWith("-") && !label.endsWith("-"));
  return isName ? name : undefined;
}

/**
 * A rule for names of hosts in the form in which rules are compared: a name; `*.` and a name, for all names below it, at any depth, but not for itself; or
 * `*` for all names. Undefined for other text.
 */
export function parseHostRule(text: string): string | undefined {
  if (text === "*") return text;
  const wildcard = text.startsWith("*.");
  const name = canonicalHost(wildcard ? text.slice(2) : text);
  return name === undefined ? undefined : `${wildcard ? "*." : ""}${name}`;
}

/**
 * Finds the most exact of some rules that `parseHostRule` gave which a name fits that `canonicalHost` gave, in time that does not grow with the rules;
 * undefined: it fits none.
 */
export function hostRuleFinder(rules: readonly string[]): (host: string) => string | undefined {
  const known = new Set(rules);
  return (host) => {
    if (known.has(host)) return host;
    for (let dot = host.indexOf("."); dot >= 0; dot = host.indexOf(".", dot + 1)) {
      const rule = `*${host.slice(dot)}`;
      if (known.has(rule)) return rule;
    }
    return known.has("*") ? "*" : undefined;
  };
}

/** Decides whether a name fits one of some rules, as `hostRuleFinder`. */
export function hostMatcher(rules: readonly string[]): (host: string) => boolean {
  const find = hostRuleFinder(rules);
  return (host) => find(host) !== undefined;
}
