import { AppError, runSteps, type SandboxId, type Step, type TeamId } from "@boxyard/core";
import type { Operation } from "./operation.ts";
import type { EngineNeeds } from "./parts.ts";
import { observerOf, undoOf } from "./run.ts";
import { INTENT, RESULT } from "./transition.ts";

export type OperationsParts = Pick<EngineNeeds, "store" | "events" | "clock" | "observer">;

/** One run of an operation. */
export interface OperationRun<Input> {
  /** Also what an idempotency key leads to. */
  readonly id: string;
  readonly teamId: TeamId;
  /** What the undo needs after the death of the server: JSON. */
  readonly input: Input;
  /** The sandbox that is named in the log. */
  readonly about: SandboxId;
}

/** For each kind of operation: undoes one that a dead server has left, by its input. */
export type UndoLeft = Readonly<Record<string, (input: never) => Promise<void>>>;

/** Runs operations, and undoes those of a server that has died. */
export class Operations {
  private readonly parts: OperationsParts;
  private readonly undoLeft: UndoLeft;
  /** Ids of the operations in progress here. */
  private readonly running = new Set<string>();

  constructor(parts: OperationsParts, undoLeft: UndoLeft) {
    this.parts = parts;
    this.undoLeft = undoLeft;
  }

  /** Runs an operation and returns its output, which the store has by then. When this throws, the undo actions have run, and the store has no row of it. */
  async run<Input, Context, Output>(
    operation: Operation<Input, Context, Output, never>,
    run: OperationRun<Input>,
    context: Context,
    signal: AbortSignal,
  ): Promise<Output> {
    const { name } = operation;
    const undo = undoOf(this.parts, name, run.about);
    let output: Output | undefined;
    const steps = [this.intentOf(operation, run), ...operation.steps.map((step, i) => (i === 0 ? step : this.noted(step, run.id)))];
    const result = this.resultOf(run.id, () => {
      output = operation.output(context);
      return output;
    });
    this.running.add(run.id);
    try {
      await runSteps([...steps, result], context, undo, signal, observerOf(this.parts, name, {}));
      undo.disarm();
      return output as Output;
    } finally {
      this.running.delete(run.id);
    }
  }

  /** Undoes the operations of this node that are not finished and do not run here. One that cannot be undone is logged, and tried again by the sweep. */
  async recover(): Promise<void> {
    const { store, events } = this.parts;
    for (const { id, kind, input } of await store.operations.listUnfinished()) {
      if (this.running.has(id)) continue;
      try {
        const undo = this.undoLeft[kind];
        if (!undo) throw new AppError("internal", `This version knows no operations of the kind ${kind}`, { reason: "unknown_operation" });
        await undo(input as never);
        await store.operations.remove(id);
        events.operationUndone(id, kind);
      } catch (error) {
        events.operationNotUndone(id, kind, error);
      }
    }
  }

  private intentOf<Input, Context>(
    { name, steps }: Pick<Operation<Input, Context, unknown, never>, "name" | "steps">,
    run: OperationRun<Input>,
  ): Step<Context> {
    const { store, clock } = this.parts;
    const { id, teamId, input } = run;
    return {
      name: INTENT,
      async run(_context, undo) {
        undo.add("forget", () => store.operations.remove(id));
        await store.operations.begin({ id, teamId, kind: name, step: steps[0]?.name ?? RESULT, input, createdAt: clock.now() });
      },
    };
  }

  /** The step, which begins with the note that it is reached. */
  private noted<Context>(step: Step<Context>, id: string): Step<Context> {
    const { store } = this.parts;
    return {
      name: step.name,
      async run(context, undo, signal) {
        await store.operations.setStep(id, step.name);
        await step.run(context, undo, signal);
      },
    };
  }

  private resultOf(id: string, output: () => unknown): Step<unknown> {
    const { store, clock } = this.parts;
    return {
      name: RESULT,
      async run(_context, undo) {
        // Else a server that dies during the other undo actions would leave a finished operation whose results are gone.
        undo.add("reopen", () => store.operations.reopen(id));
        await store.operations.finish(id, output(), clock.now());
      },
    };
  }
}
