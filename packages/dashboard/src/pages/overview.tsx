import type { ListedSandbox } from "@boxyard/spec/platform-types";
import { listSandboxes, serverTrouble, templates, volumes } from "../lib/api.ts";
import { counted, duration, megabytes } from "../lib/format.ts";
import { useNow } from "../lib/now.ts";
import { useResource } from "../lib/resource.ts";
import { go } from "../lib/router.ts";
import type { SessionInfo } from "../lib/session.ts";
import { Button } from "../ui/button.tsx";
import { Snippet } from "../ui/copy.tsx";
import { Link } from "../ui/link.tsx";
import { Card, Facts, Page } from "../ui/page.tsx";
import { Badge, Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";

const MINUTE = 60_000;
const NEWEST = 6;

export function OverviewPage({ session }: { session: SessionInfo }) {
  const sandboxes = useResource("sandboxes", listSandboxes, 3000);
  const trouble = useResource("health", async (signal) => ({ said: await serverTrouble(signal) }), 10_000);
  return (
    <Page
      title="Overview"
      subtitle={session.url}
      actions={
        <Button kind="primary" icon="plus" onPress={() => go("/sandboxes?new")}>
          Create a sandbox
        </Button>
      }
    >
      {trouble.data?.said !== undefined && (
        <div class="banner warm" role="alert">
          {trouble.data.said}
        </div>
      )}
      <Loaded from={sandboxes}>
        {(list) => (
          <>
            <Figures list={list} isWell={trouble.data ? trouble.data.said === undefined : undefined} />
            {list.length === 0 ? <FirstSteps session={session} /> : <Newest list={list} />}
          </>
        )}
      </Loaded>
      <Stock session={session} />
    </Page>
  );
}

function Figures({ list, isWell }: { list: readonly ListedSandbox[]; isWell: boolean | undefined }) {
  const now = useNow(5000);
  const running = list.filter(({ state }) => state === "running");
  const recent = list.filter(({ startedAt }) => now - Date.parse(startedAt) < 60 * MINUTE);
  const memory = running.reduce((sum, { memoryMB }) => sum + memoryMB, 0);
  const cpus = running.reduce((sum, { cpuCount }) => sum + cpuCount, 0);
  const ending = running.filter(({ endAt }) => Date.parse(endAt) - now < 5 * MINUTE).length;
  const figures: readonly (readonly [name: string, value: string, more: string])[] = [
    [
      "Server",
      isWell === undefined ? "…" : isWell ? "Healthy" : "Degraded",
      isWell === false ? "nothing new is made" : "takes new sandboxes",
    ],
    ["Running", running.length.toLocaleString(), `${ending} of them end within 5 min`],
    ["Paused", (list.length - running.length).toLocaleString(), "kept on disk"],
    ["Started in the last hour", recent.length.toLocaleString(), "of those that are there now"],
    ["Memory in use at most", megabytes(memory), `limits of the running ones; ${counted(cpus, "CPU")}`],
  ];
  return (
    <div class="figures">
      {figures.map(([name, value, more]) => (
        <div key={name} class="figure">
          <span class="figure-name">{name}</span>
          <span class={`figure-value ${value === "Healthy" ? "good" : value === "Degraded" ? "bad" : ""}`}>{value}</span>
          <span class="figure-more">{more}</span>
        </div>
      ))}
    </div>
  );
}

function Newest({ list }: { list: readonly ListedSandbox[] }) {
  const now = useNow(5000);
  const newest = [...list].sort((a, b) => b.startedAt.localeCompare(a.startedAt)).slice(0, NEWEST);
  return (
    <Card title="Newest sandboxes" actions={<Link to="/sandboxes">All {list.length.toLocaleString()}</Link>}>
      <Table
        label="Newest sandboxes"
        rows={newest}
        keyOf={({ sandboxID }) => sandboxID}
        columns={[
          {
            name: "Sandbox",
            cell: ({ sandboxID }) => (
              <Link to={`/sandboxes/${sandboxID}`} class="mono">
                {sandboxID}
              </Link>
            ),
          },
          { name: "State", cell: ({ state }) => <Badge state={state} /> },
          { name: "Template", cell: ({ alias, templateID }) => alias ?? templateID, wideOnly: true },
          { name: "Started", cell: ({ startedAt }) => `${duration(now - Date.parse(startedAt))} ago`, wideOnly: true, isNumber: true },
        ]}
      />
    </Card>
  );
}

function FirstSteps({ session }: { session: SessionInfo }) {
  return (
    <Card title="Your first sandbox">
      <div class="steps">
        <div>
          <h3>From a terminal on this machine</h3>
          <Snippet label="command" text="./boxyard run -- python3 -c 'print(6*7)'" />
        </div>
        <div>
          <h3>From a program</h3>
          <Snippet
            label="program"
            text={`mkdir -p hello && cd hello && npm init -y >/dev/null && npm install ${session.url}/sdk/npm.tgz
cat > hello.mjs <<'END'
import { Sandbox } from "@boxyard/sdk";

const sandbox = await Sandbox.create({ apiUrl: "${session.url}" });
console.log((await sandbox.commands.run("uname -a")).stdout);
await sandbox.kill();
END
BOXYARD_API_KEY=… node hello.mjs`}
          />
          <p class="hint">
            Put an <Link to="/keys">API key</Link> in place of the dots.
          </p>
        </div>
      </div>
    </Card>
  );
}

function Stock({ session }: { session: SessionInfo }) {
  const known = useResource("templates", templates.list, 30_000);
  const kept = useResource("volumes", volumes.list, 30_000);
  return (
    <div class="pair">
      <Card title="Here too">
        <Facts
          facts={[
            ["Templates", <Link to="/templates">{known.data ? counted(known.data.length, "template") : "…"}</Link>],
            ["Volumes", <Link to="/volumes">{kept.data ? counted(kept.data.length, "volume") : "…"}</Link>],
            ["Version", session.version],
          ]}
        />
      </Card>
      <Card title="For programs">
        <Facts
          facts={[
            ["API", <a href="/openapi.json">openapi.json</a>],
            ["Agent of a sandbox", <a href="/openapi/agent.json">agent.json</a>],
            ["For language models", <a href="/llms.txt">llms.txt</a>],
          ]}
        />
      </Card>
    </div>
  );
}
