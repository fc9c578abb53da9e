import type { FingerprintCheck } from "@boxyard/driver";
import type { Reserve } from "../reserve-for-machine.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import type { InstanceFile } from "../setup/instance-file.ts";

/** What a check may look at. */
export interface DoctorContext {
  readonly dataDir: string;
  /** Undefined before set-up. */
  readonly instance: InstanceFile | undefined;
  /** What sandboxes leave to the machine. */
  readonly reserve?: Reserve;
  /** The runtime that the operator has set (`BOXYARD_RUNTIME`), if any. */
  readonly runtime: RuntimeName | undefined;
}

export type Verdict = Omit<FingerprintCheck, "name">;

/** One line of `doctor`. `look` changes nothing; an error that it throws becomes the line. */
export interface Check {
  readonly name: string;
  look(context: DoctorContext): Verdict | Promise<Verdict>;
}

export const ok = (found: string): Verdict => ({ status: "ok", found });
export const warn = (found: string, fix: string): Verdict => ({ status: "warn", found, fix });
export const fail = (found: string, fix: string): Verdict => ({ status: "fail", found, fix });
