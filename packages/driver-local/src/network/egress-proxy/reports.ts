/** A request that the recording which answers a sandbox does not have. */
export interface ReplayMiss {
  /** Of the sandbox. */
  readonly address: string;
  readonly method: string;
  readonly url: string;
  readonly isPassed: boolean;
  readonly isIncomplete: boolean;
}

/** A connection that was refused, or the bytes of one since its last report. */
export interface ConnectionReport {
  /** Of the sandbox. */
  readonly address: string;
  readonly isAllowed: boolean;
  /** What the client named, and the entry of the policy that allowed it. */
  readonly name?: string;
  readonly entry?: string;
  /** IPv4 address and port that the sandbox asked for. */
  readonly server?: string;
  readonly port: number;
  /** By the sandbox, and for it. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface ProxyReports {
  onMiss(miss: ReplayMiss): void;
  onConnection(report: ConnectionReport): void;
  /** Something is missing in the recording with this id from now on. */
  onStopped(id: string, reason: string): void;
}

const MAX_URL = 512;
const MAX_NAME = 255;
const ADDRESS = /^\d{1,3}(\.\d{1,3}){3}$/;
const MAX_PORT = 65_535;
type Message = Readonly<Record<string, unknown>>;

/** Whether a message of the egress proxy is one for `hearReport`. */
export const isReport = (type: unknown): boolean => type === "miss" || type === "stopped" || type === "traffic";

/** Gives on what the egress proxy reports of recordings and connections. It parses what sandboxes send, so it is not trusted. */
export function hearReport(message: Message, reports: ProxyReports): void {
  const { address, method, url, isPassed, isIncomplete, recording, reason } = message;
  if (message.type === "traffic") {
    const report = connectionOf(message);
    if (report) reports.onConnection(report);
  } else if (message.type === "stopped") {
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

function connectionOf({ address, isAllowed, name, entry, server, port, sentBytes, receivedBytes }: Message): ConnectionReport | undefined {
  if (typeof address !== "string" || !isCount(port, MAX_PORT) || !isCount(sentBytes) || !isCount(receivedBytes)) return undefined;
  return {
    ...{ address, isAllowed: isAllowed === true, port, sentBytes, receivedBytes },
    ...(typeof name === "string" && { name: name.slice(0, MAX_NAME) }),
    ...(typeof entry === "string" && { entry: entry.slice(0, MAX_NAME) }),
    ...(typeof server === "string" && ADDRESS.test(server) && { server }),
  };
}

const isCount = (value: unknown, most = Number.MAX_SAFE_INTEGER): value is number =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
