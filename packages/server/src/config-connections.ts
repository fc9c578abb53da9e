import { resolve } from "node:path";
import { AppError } from "@boxyard/core";

const missing = (name: string, why = "must be set too") =>
  new AppError("invalid_argument", `${name}: ${why}`, { reason: "invalid_setting" });

interface Listen {
  readonly hostname: string;
  readonly port: number;
}

/** The port for TLS, and its files. Throws `invalid_argument` when one of the two is missing. */
export function tlsOf(listen: Listen, cert: string | undefined, key: string | undefined) {
  if (cert !== undefined && key !== undefined) return { ...listen, cert: resolve(cert), key: resolve(key) };
  if (cert === undefined && key === undefined) return undefined;
  throw missing(cert === undefined ? "BOXYARD_TLS_CERT" : "BOXYARD_TLS_KEY");
}

interface ReplicaSettings {
  readonly BOXYARD_REPLICA_ADDRESS?: string | undefined;
  readonly BOXYARD_REPLICA_TLS_NAME?: string | undefined;
  readonly BOXYARD_REPLICA_CA?: string | undefined;
  readonly BOXYARD_TLS_CERT?: string | undefined;
  readonly DATABASE_URL?: string | undefined;
}

/** How servers on one database reach each other. Throws `invalid_argument` when a setting lacks another one that it needs. */
export function replicasOf(e: ReplicaSettings) {
  const { BOXYARD_REPLICA_ADDRESS: replicaAddress, BOXYARD_REPLICA_TLS_NAME: serverName, BOXYARD_REPLICA_CA: ca } = e;
  if (replicaAddress !== undefined && e.DATABASE_URL === undefined) throw missing("BOXYARD_REPLICA_ADDRESS", "needs DATABASE_URL too");
  if (serverName === undefined && ca !== undefined) throw missing("BOXYARD_REPLICA_TLS_NAME");
  if (serverName === undefined) return { replicaAddress, replicaTls: undefined };
  if (replicaAddress === undefined) throw missing("BOXYARD_REPLICA_TLS_NAME", "needs BOXYARD_REPLICA_ADDRESS too");
  if (e.BOXYARD_TLS_CERT === undefined) throw missing("BOXYARD_REPLICA_TLS_NAME", "needs BOXYARD_TLS_CERT too");
  return { replicaAddress, replicaTls: { serverName, ...(ca !== undefined && { ca: resolve(ca) }) } };
}
