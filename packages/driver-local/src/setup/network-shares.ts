import { AppError } from "@boxyard/core";
import { DEFAULT_SHARES, type NetworkShares } from "../network/shares.ts";
import { parseSize } from "./size.ts";

/** Bounds of the settings: with less a sandbox could do nothing; with more a bound means nothing. */
const SHARES = { packets: [100, 100_000_000], connections: [16, 1_000_000], questions: [1, 100_000] } as const;

/** What each sandbox may take of the network, by the settings. Throws `invalid_argument` and names the variable. */
export function networkSharesOf(env: Readonly<Record<string, string | undefined>>): NetworkShares {
  const count = (name: keyof typeof SHARES, mayBeZero = false): number => {
    const variable = `BOXYARD_NETWORK_${name.toUpperCase()}`;
    const text = env[variable];
    if (!text) return DEFAULT_SHARES[name];
    const [least, most] = SHARES[name];
    const value = /^\d{1,9}$/.test(text) ? Number(text) : -1;
    if ((value >= least && value <= most) || (value === 0 && mayBeZero)) return value;
    const message = `${variable}='${text}' is not a number from ${least} to ${most}${mayBeZero ? ", or 0 for no bound" : ""}`;
    throw new AppError("invalid_argument", message, { reason: "invalid_setting" });
  };
  return {
    bandwidth: bandwidthOf(env.BOXYARD_NETWORK_BANDWIDTH),
    packets: count("packets", true),
    connections: count("connections"),
    questions: count("questions"),
  };
}

/** The kernel counts in nanoseconds times bytes, in 64 bits. */
const BANDWIDTH = { least: 64 << 10, most: 16 * 2 ** 30 } as const;

function bandwidthOf(text: string | undefined): number {
  if (!text) return DEFAULT_SHARES.bandwidth;
  if (text === "0") return 0;
  const value = parseSize("BOXYARD_NETWORK_BANDWIDTH", text);
  if (value >= BANDWIDTH.least && value <= BANDWIDTH.most) return value;
  throw new AppError("invalid_argument", `BOXYARD_NETWORK_BANDWIDTH='${text}' is not from 64K to 16G, or 0 for no bound`, {
    reason: "invalid_setting",
  });
}
