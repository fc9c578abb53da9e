import { AppError, isAppError, type SandboxId } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { TemplateSource } from "../ports.ts";
import { createFailure } from "../problems.ts";
import { type CreateTemplate, createTransition } from "../transitions/create.ts";
import type { Admission } from "./admission.ts";

/** A sandbox that is kept for one create until that has ended. */
export interface Reserved {
  readonly id: SandboxId;
  /** Its whole memory is set aside for it already. */
  readonly hasRoom: boolean;
  /**
   * Gives the sandbox to a user. Undefined when it cannot be given: it is removed then, and the caller makes another. Throws what the template's own
   * commands meet, and when the caller has gone.
   */
  claim(wanted: SandboxRecord, template: CreateTemplate, caller: AbortSignal): Promise<SandboxRecord | undefined>;
  /** Back to the pool, if it was not claimed. */
  giveBack(): void;
}

export interface MakerParts {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly templates: Pick<TemplateSource, "countSpawn">;
  /** Notes each create that has succeeded. */
  readonly warm: { used(wanted: SandboxRecord, template: CreateTemplate): void };
}

/**
 * Makes a sandbox of a user when it is admitted, and returns when it runs. `reserved`: that sandbox of the pool is given to the user instead, and the id
 * is its own; throws reason `warm_gone` when it cannot be given. When this throws, the sandbox is removed, or the sweep removes it; the error is one
 * for the user (`createFailure`).
 */
export async function makeSandbox(
  parts: MakerParts,
  wanted: SandboxRecord,
  input: CreateTemplate,
  caller: AbortSignal,
  reserved?: Reserved,
): Promise<SandboxRecord> {
  const record = await (reserved ? claimWarm(parts, reserved, wanted, input, caller) : makeCold(parts, wanted, input, caller));
  parts.templates.countSpawn(record.templateId, record.facts.buildId);
  parts.warm.used(wanted, input);
  return record;
}

const GONE = "warm_gone";

/** Undefined when the sandbox of the pool could not be given: the caller makes another. */
export async function unlessGone<T>(making: Promise<T>): Promise<T | undefined> {
  return making.catch((error: unknown) => {
    if (isAppError(error, GONE)) return undefined;
    throw error;
  });
}

function claimWarm({ admission }: MakerParts, reserved: Reserved, wanted: SandboxRecord, input: CreateTemplate, caller: AbortSignal) {
  const claim = async (admitted: SandboxRecord) => {
    // On another node it is made there.
    const record = admitted.facts.node === undefined ? await claimed(reserved, admitted, input, caller) : undefined;
    if (record) return record;
    admission.asksAgain(wanted.teamId);
    throw new AppError("unavailable", "The sandbox of the pool cannot be given", { reason: GONE });
  };
  return admission.create(wanted, caller, claim, { isRunning: true, hasRoom: reserved.hasRoom });
}

async function claimed(reserved: Reserved, admitted: SandboxRecord, input: CreateTemplate, caller: AbortSignal) {
  try {
    return await reserved.claim(admitted, input, caller);
  } catch (error) {
    throw createFailure(error, { caller, ended: NEVER, isRemoved: true, volumes: admitted.facts.volumes });
  }
}

function makeCold({ engine, admission }: MakerParts, wanted: SandboxRecord, input: CreateTemplate, caller: AbortSignal) {
  return admission.create(wanted, caller, async (admitted) => {
    const sandbox = engine.add(admitted);
    try {
      return await engine.make(sandbox, createTransition, input, { signal: caller });
    } catch (error) {
      const isRemoved = sandbox.state === "dead";
      throw createFailure(error, { caller, ended: sandbox.interrupted, isRemoved, volumes: admitted.facts.volumes });
    }
  });
}

/** No client knows the sandbox of a claim before its end. */
const NEVER = new AbortController().signal;
