import { isIPv4 } from "node:net";

/** IPv4 addresses from `first` to `last`, both included. */
export interface AddressRange {
  readonly first: number;
  readonly last: number;
}

/** The addresses of an IPv4 address or network (`1.2.3.4`, `1.2.3.0/24`); undefined for other text. Bits below the prefix are ignored. */
export function parseRange(text: string): AddressRange | undefined {
  const [address = "", prefix = "32", ...more] = text.split("/");
  if (!isIPv4(address) || more.length > 0 || !isPrefix(prefix, 32)) return undefined;
  const number = address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
  const size = 2 ** (32 - Number(prefix));
  const first = number - (number % size);
  return { first, last: first + size - 1 };
}

/** Whether text is the length of a prefix, `most` bits at most. */
export const isPrefix = (text: string, most: number): boolean => /^(0|[1-9]\d{0,2})$/.test(text) && Number(text) <= most;
