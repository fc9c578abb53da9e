import type { TeamState } from "@boxyard/spec/platform-types";
import { duration, megabytes, shortTime } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { server } from "../lib/server-api.ts";
import { CopyButton, Snippet } from "../ui/copy.tsx";
import { Meter } from "../ui/meter.tsx";
import { Card, Facts, Page } from "../ui/page.tsx";
import { Loaded } from "../ui/state.tsx";

type LimitName = keyof TeamState["limits"];

const plain = (value: number) => value.toLocaleString();
/** What the limits are called, and how their values are written. */
const LIMITS: readonly (readonly [name: LimitName, text: string, words: (value: number) => string])[] = [
  ["sandboxes", "Sandboxes that run", plain],
  ["cpus", "CPUs", plain],
  ["memoryMB", "Memory", megabytes],
  ["diskMB", "Disk, paused ones too", megabytes],
  ["templates", "Templates", plain],
  ["builds", "Builds that run or wait", plain],
  ["createsPerMinute", "Creates per minute", plain],
];
const HOUR_MS = 3_600_000;

export function TeamPage() {
  const team = useResource("team", server.team, 3000);
  return (
    <Page title="Team" subtitle={team.data?.name ?? ""}>
      <Loaded from={team}>
        {(state) => (
          <>
            <Limits state={state} />
            <div class="pair">
              <About state={state} />
              <Retained state={state} />
            </div>
            <Card title="For the operator of the server">
              <p class="muted">Limits are set for each team from a terminal on the server's machine:</p>
              <Snippet label="command" text={`./boxyard team limit ${state.slug} sandboxes=100 createsPerMinute=600`} />
            </Card>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Limits({ state: { limits } }: { state: TeamState }) {
  return (
    <Card title="What the team may have, and has">
      <div class="meters wide">
        {LIMITS.map(([name, text, words]) => {
          const { value, used = 0, origin } = limits[name];
          const more = origin === "team" ? ", set for this team" : "";
          return <Meter key={name} label={text} used={used} most={value} words={`${words(used)} of ${words(value)}${more}`} />;
        })}
      </div>
    </Card>
  );
}

function About({ state: { teamID, slug, createdAt, limits } }: { state: TeamState }) {
  return (
    <Card title="Facts">
      <Facts
        facts={[
          ["Slug", <span class="mono">{slug}</span>],
          [
            "Id",
            <span class="address">
              <span class="mono break">{teamID}</span>
              <CopyButton text={teamID} what="the id" />
            </span>,
          ],
          ["Created", shortTime(createdAt)],
          ["A sandbox lives at most", duration(limits.timeoutHours.value * HOUR_MS)],
        ]}
      />
    </Card>
  );
}

/** What is deleted by itself. */
function Retained({ state: { retention } }: { state: TeamState }) {
  const rules = Object.entries(retention).flatMap(([kind, rule]) =>
    Object.entries(rule ?? {}).map(([name, value]) => [`${kind}.${name}`, String(value)] as const),
  );
  return (
    <Card title="Deleted by itself">
      {rules.length === 0 ? (
        <p class="muted">Nothing. The operator can have paused sandboxes, snapshots and builds deleted by age, number and size.</p>
      ) : (
        <Facts facts={rules} />
      )}
    </Card>
  );
}
