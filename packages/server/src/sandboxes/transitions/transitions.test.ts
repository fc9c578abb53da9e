import { describe, expect, test } from "bun:test";
import { canMove, type LivingState, MOVES, type SandboxId, type SandboxState } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { holdAt, Place, sidesOf, type When } from "../../testing/place.ts";
import type { TestServer } from "../../testing/test-server.ts";
import { type AnyTransition, pointsOf } from "../engine/transition.ts";
import { OPERATIONS } from "../operations.ts";
import { ANSWERS } from "../upkeep/adopt.ts";
import { kindOf, newMember } from "../warm/kind.ts";
import { claim } from "./claim.ts";
import { commitLayer } from "./commit-layer.ts";
import { TRANSITIONS, type TransitionName } from "./index.ts";
import { reboot } from "./reboot.ts";
import { warm } from "./warm.ts";

const LIVING = Object.keys(MOVES).filter((state) => state !== "dead") as LivingState[];
const transitions = Object.values(TRANSITIONS) as readonly AnyTransition[];

/** The names of inputs for a paused sandbox; the others are for a running one. */
const OF_PAUSED = "of a paused sandbox";

type Ask = (s: TestServer, id: string) => Promise<{ status: number }>;

/** The id of a snapshot of the sandbox, with or without memory; it is made the first time. */
async function snapshotOf(s: TestServer, id: string, memory = true): Promise<string> {
  const { body } = await s.call("GET", `/snapshots?sandboxID=${id}`);
  return body[0]?.snapshotID ?? (await s.call("POST", `/sandboxes/${id}/snapshots`, { memory })).body.snapshotID;
}

const sandboxOf = (s: TestServer, id: string) => {
  const sandbox = s.server.engine.sandboxes.find(id as SandboxId);
  if (!sandbox) throw new Error("no sandbox");
  return sandbox;
};

/** A create from a template with a start and a ready command. */
const createWithCommands: Ask = async (s, id) => {
  const { store, templates } = s.server.context;
  const { teamId } = sandboxOf(s, id).record;
  const { spec } = templates.resolve(teamId, "base", "templateID");
  await store.templates.put(teamId, "with-commands", "default", { ...spec, startCmd: "serve", readyCmd: "true" }, Date.now());
  await templates.load();
  return s.call("POST", "/v2/sandboxes", { templateID: "with-commands" });
};

/** Runs a transition that only the server starts, and returns a status as for a client. */
const asAsked = (work: Promise<unknown>): Promise<{ status: number }> =>
  work.then(
    () => ({ status: 204 }),
    () => ({ status: 503 }),
  );
const rebootOf: Ask = (s, id) => asAsked(s.server.engine.run(sandboxOf(s, id), reboot, { stop: new AbortController().signal }));
const commitOf: Ask = (s, id) => asAsked(s.server.engine.run(sandboxOf(s, id), commitLayer, { leaveOut: [] }));

/** A sandbox of the pool of the same kind as the sandbox `id`. */
async function memberLike(s: TestServer, id: string) {
  const { record } = sandboxOf(s, id);
  const template = { env: record.facts.templateEnv ?? {} };
  const kind = kindOf(record, template, { network: true });
  if (!kind) throw new Error("no kind");
  const member = s.server.engine.add(newMember(kind, Date.now()));
  await s.server.engine.make(member, warm, { template, untilQuiet: async () => {} });
  return { member, template, record };
}

/** Gives a new sandbox of the pool to the team of the sandbox `id`. */
async function claimMember(s: TestServer, id: string): Promise<void> {
  const { member, template, record } = await memberLike(s, id);
  const facts = { ...record.facts, initKey: member.record.facts.initKey };
  await s.server.engine.run(member, claim, { wanted: { ...record, id: member.id, facts }, template, from: undefined });
}

const pauseFirst =
  (ask: Ask): Ask =>
  async (s, id) => {
    await s.call("POST", `/sandboxes/${id}/pause`, {});
    return ask(s, id);
  };
const rollbackTo =
  (memory: boolean): Ask =>
  async (s, id) =>
    s.call("POST", `/sandboxes/${id}/rollback`, { snapshotID: await snapshotOf(s, id, memory) });

/**
 * The request for each transition, with each kind of input. `id` is a sandbox in a state from which the transition may begin. The code does not compile
 * if a transition has no entry.
 */
const ASK: Readonly<Record<TransitionName, Readonly<Record<string, Ask>>>> = {
  create: {
    "of a template": (s) => s.call("POST", "/v2/sandboxes", { templateID: "base" }),
    "from a snapshot": async (s, id) => s.call("POST", "/v2/sandboxes", { templateID: await snapshotOf(s, id) }),
    "with a start command": createWithCommands,
  },
  kill: {
    "of a running sandbox": (s, id) => s.call("DELETE", `/sandboxes/${id}`),
    "of a paused sandbox": pauseFirst((s, id) => s.call("DELETE", `/sandboxes/${id}`)),
  },
  pause: {
    "with memory": (s, id) => s.call("POST", `/sandboxes/${id}/pause`, {}),
    "without memory": (s, id) => s.call("POST", `/sandboxes/${id}/pause`, { memory: false }),
  },
  setEnd: { "to a later time": (s, id) => s.call("POST", `/sandboxes/${id}/timeout`, { timeout: 1000 }) },
  setEgress: { "to nothing": (s, id) => s.call("PUT", `/sandboxes/${id}/network`, { allow_internet_access: false }) },
  resize: { "to more memory": (s, id) => s.call("PATCH", `/sandboxes/${id}/resources`, { memoryMB: 2048 }) },
  snapshot: { "with memory": (s, id) => s.call("POST", `/sandboxes/${id}/snapshots`, {}) },
  resume: { "of memory": pauseFirst((s, id) => s.call("POST", `/sandboxes/${id}/resume`, {})) },
  rollback: {
    "to memory": rollbackTo(true),
    "to a disk": rollbackTo(false),
    [OF_PAUSED]: async (s, id) => {
      await snapshotOf(s, id);
      return pauseFirst(rollbackTo(true))(s, id);
    },
  },
  // Only the pool uses them.
  warm: { "of a template": (s, id) => asAsked(memberLike(s, id)) },
  claim: { "of a template": (s, id) => asAsked(claimMember(s, id)) },
  // Only a build uses it.
  commitLayer: { "of a sandbox": commitOf },
  // If a boot anew leaves a sandbox paused, the client resumes it.
  reboot: {
    "of a running sandbox": (s, id) =>
      sandboxOf(s, id).state === "paused" ? s.call("POST", `/v2/sandboxes/${id}/connect`, { timeout: 60 }) : rebootOf(s, id),
  },
};

interface Fault {
  /** State of the sandbox before the transition, except for inputs of `OF_PAUSED`. */
  readonly before: LivingState;
  /** A fault after this point does not stop the transition; a fault before it leads to the undo. */
  readonly noReturn: string;
  /** The statuses that a client gets for a fault before that point, and after it. */
  readonly statuses: readonly [before: number, after: number];
  /** Between the end of this point and `noReturn`, the death of the server leaves the sandbox paused; a fault does too if `byFault` is true. */
  /** True: the next server removes what the transition has made. */
  readonly isReleased?: boolean;
  readonly paused?: { readonly after: string; readonly byFault: boolean };
}

/** The effect of a fault. A transition without its line does not compile. */
const FAULT: Readonly<Record<TransitionName, Fault>> = {
  create: { before: "running", noReturn: "create result", statuses: [500, 500] },
  warm: { before: "running", noReturn: "warm result", statuses: [503, 503], isReleased: true },
  claim: { before: "running", noReturn: "claim result", statuses: [503, 503] },
  kill: { before: "running", noReturn: "kill intent", statuses: [500, 500] },
  pause: { before: "running", noReturn: "pause keep", statuses: [503, 500] },
  setEnd: { before: "running", noReturn: "setEnd result", statuses: [500, 500] },
  commitLayer: { before: "running", noReturn: "commitLayer result", statuses: [503, 503] },
  setEgress: { before: "running", noReturn: "setEgress result", statuses: [500, 500] },
  resize: { before: "running", noReturn: "resize result", statuses: [500, 500] },
  snapshot: { before: "running", noReturn: "snapshot result", statuses: [503, 503] },
  resume: { before: "paused", noReturn: "resume result", statuses: [503, 503] },
  rollback: { before: "running", noReturn: "rollback result", statuses: [503, 503], paused: { after: "rollback keep", byFault: false } },
  reboot: { before: "running", noReturn: "reboot result", statuses: [503, 503], paused: { after: "reboot keep", byFault: true } },
};

describe("the table of moves", () => {
  test.each(transitions.map((transition) => [transition.name, transition] as const))("allows what %s does", (name, transition) => {
    const { from, via, to, onFailure } = transition;
    const moves: [SandboxState, SandboxState][] = [...from.map((state): [SandboxState, SandboxState] => [state, via]), [via, to]];
    if (onFailure === "return") moves.push(...from.map((state): [SandboxState, SandboxState] => [via, state]));
    if (onFailure === "remove") moves.push([via, "killing"], [to, "killing"]);
    // A transition that stays in its state makes no move.
    expect(moves.filter(([a, b]) => a !== b && !canMove(a, b))).toEqual([]);
    expect(TRANSITIONS[name as TransitionName] as AnyTransition).toBe(transition);
    expect(new Set(pointsOf(transition)).size).toBe(transition.steps.length + 2);
  });

  test("lets a sandbox be removed from every state, and has an answer to each state after a restart", () => {
    expect([...TRANSITIONS.kill.from].sort()).toEqual(LIVING.filter((state) => state !== "killing").sort());
    expect(Object.keys(ANSWERS).sort()).toEqual([...LIVING].sort());
  });
});

const places = transitions.flatMap((transition) => {
  const name = transition.name as TransitionName;
  return Object.keys(ASK[name]).flatMap((input) => pointsOf(transition).map((point) => [name, input, point] as const));
});
const stateOf = async (s: TestServer, id: string) => (await s.server.context.store.getSandbox(id as SandboxId))?.state;

/** A server with one sandbox; faults are injected only once that exists. */
async function withSandbox(
  place: Place,
  fault: (point: string, when: "before" | "after") => void | Promise<void>,
  undo?: (action: string) => void,
) {
  let armed = false;
  const hook = (when: "before" | "after") => (point: string) => (armed ? fault(point, when) : undefined);
  const s = await place.boot({ observer: { before: hook("before"), after: hook("after"), ...(undo && { undo }) } });
  const { sandboxID: id } = await s.create();
  armed = true;
  return { s, id };
}

/**
 * True if memory, store and driver have the same sandboxes and checkpoints, each sandbox runs or is paused, no running one is frozen, and something
 * needs each checkpoint. Until its first sweep the next server may have checkpoints that nothing needs.
 */
async function isConsistent(s: TestServer, place: Place, isNextServer = false): Promise<boolean> {
  const records = await s.server.context.store.listLiving();
  const known = s.server.engine.sandboxes.all();
  const { checkpoints } = s.server.context.store;
  const kept = await Promise.all([...place.world.snapshots.keys()].map((id) => checkpoints.find(id)));
  const areNeeded = (await checkpoints.listUnused()).length === 0;
  const settled = (state: string) => state === "running" || state === "paused";
  return (
    records.every(({ state }) => settled(state)) &&
    known.every((sandbox) => records.some(({ id, state }) => id === sandbox.id && state === sandbox.state)) &&
    known.length === records.length &&
    known.every(({ id, state }) => {
      const { phase, frozen, agent } = place.world.sandboxes.get(id) ?? {};
      return phase === state && !frozen && !agent?.areCommandsFrozen;
    }) &&
    known.every(
      ({ id, state, record }) => state !== "running" || Bun.deepEquals(place.world.sandboxes.get(id)?.network, record.settings.egress),
    ) &&
    kept.every((checkpoint) => checkpoint !== undefined) &&
    (isNextServer || areNeeded) &&
    [...place.world.sandboxes.keys()].every((id) => known.some((sandbox) => sandbox.id === id))
  );
}

/** The effect of a fault before or after a point of a transition: whether the transition still completes, and the state of the sandbox. */
function outcomeOf(name: TransitionName, input: string, failing: string) {
  const transition = TRANSITIONS[name] as AnyTransition;
  const { before, noReturn, paused } = FAULT[name];
  const placeOf = (point: string) => pointsOf(transition).indexOf(point);
  const isBehind = (point: string, when: When) => placeOf(failing) >= placeOf(point) + (when === "after" ? 0 : 1);
  const isPast = (when: When) => isBehind(noReturn, when);
  /** `isFault`: false for the death of the server. */
  const stateAfter = (when: When, isFault: boolean): SandboxState => {
    if (isPast(when)) return transition.to;
    if (paused && isBehind(paused.after, when) && (paused.byFault || !isFault)) return "paused";
    return input === OF_PAUSED ? "paused" : before;
  };
  return { isPast, stateAfter };
}

describe.each(places)("%s %s that fails at '%s'", (name, input, failing) => {
  const transition = TRANSITIONS[name] as AnyTransition;
  const ask = ASK[name][input] as Ask;
  const isLast = failing === pointsOf(transition).at(-1);
  const { statuses, isReleased } = FAULT[name];
  const { isPast, stateAfter } = outcomeOf(name, input, failing);

  test.each(sidesOf(failing, transition))("(%s it) leaves the sandbox as the transition says, and everything consistent", async (when) => {
    await using place = new Place();
    let left = 1;
    const { s, id } = await withSandbox(place, (point, at) => {
      if (point === failing && at === when && left-- > 0) throw new Error("injected");
    });
    expect((await ask(s, id)).status).toBe(statuses[isPast(when) ? 1 : 0]);
    for (const sandbox of s.server.engine.sandboxes.all()) sandbox.retryAt = 0;
    await s.server.sweep.once();
    await eventually("everything is consistent", () => isConsistent(s, place));
    const { onFailure, to } = transition;
    if (onFailure !== "remove") expect(await stateOf(s, id)).toBe(stateAfter(when, true));
    // The sandbox of before lives on.
    if (onFailure === "remove") expect([...place.world.sandboxes.keys()]).toEqual([id]);
    // The same request succeeds the next time, or says that it is done already.
    expect((await ask(s, id)).status).toBeLessThan(500);
    if (onFailure !== "remove") expect(await stateOf(s, id)).toBe(to);
  });

  test.each(sidesOf(failing, transition))("(the server killed %s it) is finished or undone by the next server", async (when) => {
    await using place = new Place();
    const { observer, reached } = holdAt(failing, when);
    const first = await place.boot();
    const { sandboxID: id } = await first.create();
    await place.crash(first);
    const second = await place.boot({ observer });
    void ask(second, id).catch(() => undefined);
    await reached;
    // A request ends with its server; the promise of a transition that the server itself started never settles.
    await place.crash(second);
    const third = await place.boot();
    await third.server.adoption.removals;
    expect(await isConsistent(third, place, true)).toBe(true);
    await third.server.sweep.once();
    expect(await isConsistent(third, place)).toBe(true);
    if (transition.onFailure === "remove") expect(place.world.sandboxes.size).toBe(isLast && when === "after" && !isReleased ? 2 : 1);
    else expect(await stateOf(third, id)).toBe(stateAfter(when, false));
    expect((await ask(third, id)).status).toBeLessThan(500);
    if (transition.onFailure !== "remove") expect(await stateOf(third, id)).toBe(transition.to);
  });
});

// The undo of a create is the transition `kill`, and a kill has no undo.
const returning = places.filter(([name]) => TRANSITIONS[name].onFailure === "return");

test.each(returning)("%s %s that fails after '%s', and whose undo actions fail, is undone by the sweep", async (name, input, failing) => {
  const ask = ASK[name][input] as Ask;
  await using place = new Place();
  let left = 1;
  const notUndone: string[] = [];
  const fault = (point: string, when: string) => {
    if (point === failing && when === "after" && left-- > 0) throw new Error("injected");
  };
  const { s, id } = await withSandbox(place, fault, (action) => {
    notUndone.push(action);
    throw new Error("injected");
  });
  expect((await ask(s, id)).status).toBeGreaterThanOrEqual(500);
  for (const sandbox of s.server.engine.sandboxes.all()) sandbox.retryAt = 0;
  await s.server.sweep.once();
  await eventually("everything is consistent", () => isConsistent(s, place));
  expect(await stateOf(s, id)).toBe(outcomeOf(name, input, failing).stateAfter("after", notUndone.length === 0));
  expect((await ask(s, id)).status).toBeLessThan(500);
});

type OperationName = keyof typeof OPERATIONS;

/** The request for each operation, for the sandbox `id`, and its answer to a fault. The code does not compile if an operation has no entry. */
const ASK_OPERATION: Readonly<Record<OperationName, { ask: Ask; failed: number }>> = {
  createOnce: { ask: (s) => s.call("POST", "/v2/sandboxes", { templateID: "base" }, { "Idempotency-Key": "k" }), failed: 500 },
  fork: { ask: (s, id) => s.call("POST", `/sandboxes/${id}/fork`, { count: 2 }), failed: 503 },
};
const operationPlaces = (Object.keys(OPERATIONS) as OperationName[]).flatMap((name) =>
  pointsOf(OPERATIONS[name]).map((point) => [name, point] as const),
);

describe.each(operationPlaces)("the operation %s that fails at '%s'", (name, failing) => {
  const { ask, failed } = ASK_OPERATION[name];

  test.each(sidesOf(failing, OPERATIONS[name]))("(%s it) is undone: only the former sandbox is left", async (when) => {
    await using place = new Place();
    let left = 1;
    const { s, id } = await withSandbox(place, (point, at) => {
      if (point === failing && at === when && left-- > 0) throw new Error("injected");
    });
    expect((await ask(s, id)).status).toBe(failed);
    await eventually("everything is consistent", () => isConsistent(s, place));
    expect([[...place.world.sandboxes.keys()], await stateOf(s, id)]).toEqual([[id], "running"]);
    expect((await ask(s, id)).status).toBeLessThan(300);
  });

  test.each(sidesOf(failing, OPERATIONS[name]))(
    "(the server killed %s it) leaves everything consistent to the next server",
    async (when) => {
      await using place = new Place();
      const { observer, reached } = holdAt(failing, when);
      const first = await place.boot({ observer });
      const { sandboxID: id } = await first.create();
      void ask(first, id).catch(() => undefined);
      await reached;
      await place.crash(first);
      const second = await place.boot();
      await second.server.adoption.removals;
      await second.server.sweep.once();
      expect([await isConsistent(second, place), await stateOf(second, id)]).toEqual([true, "running"]);
      expect((await ask(second, id)).status).toBeLessThan(300);
    },
  );
});
