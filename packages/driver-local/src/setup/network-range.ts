import { readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { AppError } from "@boxyard/core";
import { formatNetwork, type Network, overlaps, parseNetwork } from "../network/addresses.ts";

/** 10.208.0.0/16 to 10.223.0.0/16. */
const CANDIDATES: readonly Network[] = Array.from({ length: 16 }, (_, i) => parseNetwork(`10.${208 + i}.0.0/16`));

/** The kernel writes addresses in this file as hexadecimal numbers in the machine's byte order. */
const littleEndianHex = (hex: string): number => Buffer.from(hex, "hex").readUInt32LE();

/** Networks of /proc/net/route; the default route is no network. */
export function parseRoutes(text: string): Network[] {
  return text
    .split("\n")
    .slice(1)
    .map((line) => line.split("\t"))
    .filter((fields) => fields.length > 7 && fields[7] !== "00000000")
    .map((fields) => ({
      base: littleEndianHex(fields[1] as string),
      prefix: littleEndianHex(fields[7] as string)
        .toString(2)
        .replaceAll("0", "").length,
    }));
}

/** Everything that this machine routes or holds by itself. */
export function usedNetworks(): Network[] {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ family }) => family === "IPv4")
    .map(({ address }) => parseNetwork(`${address}/32`));
  return [...parseRoutes(readFileSync("/proc/net/route", "utf8")), ...addresses];
}

/** The first candidate that overlaps nothing in use. None left is `resource_exhausted`, reason `no_free_network`. */
export function chooseNetwork(used: readonly Network[]): string {
  const free = CANDIDATES.find((candidate) => !used.some((network) => overlaps(candidate, network)));
  if (free) return formatNetwork(free);
  throw new AppError("resource_exhausted", "every range from 10.208.0.0/16 to 10.223.0.0/16 is in use here: set BOXYARD_NETWORK", {
    reason: "no_free_network",
  });
}

/** Refuses a range that overlaps something in use: `failed_precondition`, reason `network_in_use`. */
export function assertFree(wanted: string, used: readonly Network[]): void {
  const clash = used.find((network) => overlaps(parseNetwork(wanted), network));
  if (!clash) return;
  throw new AppError(
    "failed_precondition",
    `BOXYARD_NETWORK=${wanted} overlaps ${formatNetwork(clash)}, which this machine routes already: choose another range`,
    { reason: "network_in_use" },
  );
}
