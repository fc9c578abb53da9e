/** A request that the recording which answers a sandbox does not have. */
export interface ReplayMiss {
  /** Of the sandbox. */
  readonly address: string;
  readonly method: string;
  readonly url: string;
  readonly isPassed: boolean;
  readonly isIncomplete: boolean;
}

export interface ProxyReports {
  onMiss(miss: ReplayMiss): void;
  /** Something is missing in the recording with this id from now on. */
  onStopped(id: string, reason: string): void;
}

const MAX_URL = 512;

/** Gives on what the egress proxy reports of recordings. It parses what sandboxes send, so it is not trusted. */
export function hearReport(message: Readonly<Record<string, unknown>>, reports: ProxyReports): void {
  const { address, method, url, isPassed, isIncomplete, recording, reason } = message;
  if (message.type === "stopped") {
    if (typeof recording === "string" && typeof reason === "string") reports.onStopped(recording, reason.slice(0, 100));
  } else if (typeof address === "string" && typeof method === "string" && typeof url === "string")
    reports.onMiss({
      address,
      method: method.slice(0, 32),
      url: url.slice(0, MAX_URL),
      isPassed: isPassed === true,
      isIncomplete: isIncomplete === true,
    });
}
