import type { ListedSandbox, ServerState } from "@boxyard/spec/platform-types";
import { counted, megabytes, milliseconds } from "../../lib/format.ts";
import { shortWords } from "./capacity.tsx";

type Figure = readonly [name: string, value: string, more: string, tone?: string];

export function Figures({ list, state }: { list: readonly ListedSandbox[]; state: ServerState | null }) {
  return (
    <div class="figures">
      {(state ? ofServer(state) : ofTeam(list)).map(([name, value, more, tone = ""]) => (
        <div key={name} class="figure">
          <span class="figure-name">{name}</span>
          <span class={`figure-value ${tone}`}>{value}</span>
          <span class="figure-more">{more}</span>
        </div>
      ))}
    </div>
  );
}

const VERDICTS = { ok: ["Healthy", "good"], warn: ["Warnings", "warm"], fail: ["Broken", "bad"] } as const;

/** The whole server, for its operator. */
function ofServer({ verdict, checks, sandboxes, room, createsPerMinute, latencies }: ServerState): Figure[] {
  const { running, paused, starting } = sandboxes;
  const [word, tone] = VERDICTS[verdict];
  const notWell = checks.filter(({ status }) => status !== "ok").length;
  const creates = latencies.find(({ change }) => change === "create");
  return [
    [
      "Server",
      word,
      notWell === 0 ? `${counted(checks.length, "check")}, all well` : `${notWell} of ${counted(checks.length, "check")} not well`,
      tone,
    ],
    ["Room for", `${room.sandboxes.toLocaleString()} more`, `${shortWords(room.shortOf)} ends first`, room.sandboxes === 0 ? "bad" : ""],
    ["Running", running.toLocaleString(), starting > 0 ? `${starting.toLocaleString()} are starting` : "none is starting"],
    ["Paused", paused.toLocaleString(), "kept on disk"],
    [
      "Creates per minute",
      (createsPerMinute.at(-2) ?? 0).toLocaleString(),
      `${createsPerMinute.reduce((sum, count) => sum + count, 0).toLocaleString()} in the last hour`,
    ],
    [
      "A create takes",
      creates && creates.count > 0 ? milliseconds(creates.p50Ms) : "–",
      creates && creates.count > 0 ? `p99 ${milliseconds(creates.p99Ms)}` : "none in 15 minutes",
    ],
  ];
}

/** What the team has, for everybody else. */
function ofTeam(list: readonly ListedSandbox[]): Figure[] {
  const running = list.filter(({ state }) => state === "running");
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  return [
    ["Running", running.length.toLocaleString(), "of your team"],
    ["Paused", (list.length - running.length).toLocaleString(), "kept on disk"],
    ["Memory", megabytes(sum(running.map(({ memoryMB }) => memoryMB))), "limits of those that run"],
    ["CPUs", sum(running.map(({ cpuCount }) => cpuCount)).toLocaleString(), "limits of those that run"],
  ];
}
