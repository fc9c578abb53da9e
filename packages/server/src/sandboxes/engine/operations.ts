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

/** Work with several steps whose own rows say what a dead server has left of it: builds. */
export interface OtherWork {
  readonly kind: string;
  /** Ids of what is unfinished, and not in progress here. */
  listUnfinished(): Promise<readonly string[]>;
  /** Finishes or undoes one. Repeatable. */
  settle(id: string): Promise<void>;
}

/** Runs operations, and settles those of a server that has died: at the start of this one, and in each round of the sweep. */
export class Operations {
  private readonly parts: OperationsParts;
  private readonly undoLeft: UndoLeft;
  private readonly others: readonly OtherWork[];
  /** Ids of the operations in progress here. */
  private readonly running = new Set<string>();

  constructor(parts: OperationsParts, undoLeft: UndoLeft, others: readonly OtherWork[] = []) {
    this.parts = parts;
    this.undoLeft = undoLeft;
    this.others = others;
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

  /** Settles what is unfinished on this node and does not run here. One for which that fails is logged, and tried again by the sweep. */
  async recover(): Promise<void> {
    const { operations } = this.parts.store;
    for (const { id, kind, input } of await operations.listUnfinished()) {
      if (this.running.has(id)) continue;
      // One that was in progress here when the list was read may have ended since: its output is written before it counts as ended.
      const now = await operations.find(id);
      if (!now || now.finishedAt !== undefined) continue;
      await this.settle(kind, id, async () => {
        const undo = this.undoLeft[kind];
        if (!undo) throw new AppError("internal", `This version knows no operations of the kind ${kind}`, { reason: "unknown_operation" });
        await undo(input as never);
        await operations.remove(id);
      });
    }
    for (const other of this.others) {
      for (const id of await other.listUnfinished()) await this.settle(other.kind, id, () => other.settle(id));
    }
  }

  private async settle(kind: string, id: string, work: () => Promise<void>): Promise<void> {
    const { events } = this.parts;
    await work().then(
      () => events.operationSettled(id, kind),
      (error: unknown) => events.operationNotSettled(id, kind, error),
    );
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
