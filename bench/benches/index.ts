import type { Bench } from "../lib/bench.ts";
import { adopt } from "./adopt.ts";
import { agent } from "./agent.ts";
import { besideAttacks } from "./beside-attacks.ts";
import { checkpoints } from "./checkpoints.ts";
import { codeInterpreter } from "./code-interpreter.ts";
import { command } from "./command.ts";
import { compose } from "./compose.ts";
import { create100 } from "./create-100.ts";
import { createCold } from "./create-cold.ts";
import { createWarm } from "./create-warm.ts";
import { density } from "./density.ts";
import { egress } from "./egress.ts";
import { files } from "./files.ts";
import { fork } from "./fork.ts";
import { idle } from "./idle.ts";
import { idleMetrics } from "./idle-metrics.ts";
import { longLists } from "./long-lists.ts";
import { networkFlood } from "./network-flood.ts";
import { pause } from "./pause.ts";
import { proxy } from "./proxy.ts";
import { ptyEcho } from "./pty-echo.ts";
import { scale } from "./scale.ts";
import { sdk } from "./sdk.ts";
import { snapshot } from "./snapshot.ts";
import { soak } from "./soak.ts";
import { startFromMemory } from "./start-from-memory.ts";
import { takeover } from "./takeover.ts";
import { templateCached } from "./template-cached.ts";
import { templateMemory } from "./template-memory.ts";
import { templateRun } from "./template-run.ts";
import { templateUnpack } from "./template-unpack.ts";
import { transfer } from "./transfer.ts";
import { tti } from "./tti.ts";
import { volume } from "./volume.ts";

/** Every bench, in the order of SPECIFICATION.md's rows. */
export const benches: readonly Bench[] = [
  createWarm,
  tti,
  createCold,
  command,
  agent,
  create100,
  idle,
  ptyEcho,
  transfer,
  files,
  compose,
  pause,
  proxy,
  adopt,
  snapshot,
  fork,
  sdk,
  templateCached,
  templateRun,
  templateUnpack,
  templateMemory,
  startFromMemory,
  codeInterpreter,
  checkpoints,
  volume,
  egress,
  soak,
  besideAttacks,
  networkFlood,
  longLists,
  idleMetrics,
  density,
  scale,
  takeover,
];

/** Promises that nothing here measures, and why. */
export const UNMEASURED: Readonly<Record<number, string>> = {};
