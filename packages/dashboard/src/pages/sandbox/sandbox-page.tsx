import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useMemo } from "preact/hooks";
import { FileBrowser } from "../../files/file-browser.tsx";
import { type Agent, agentOf } from "../../lib/agent.ts";
import { sandbox } from "../../lib/api.ts";
import { ApiError } from "../../lib/api-error.ts";
import { filesOfSandbox } from "../../lib/file-source.ts";
import { duration, fullTime } from "../../lib/format.ts";
import { useNow } from "../../lib/now.ts";
import { useResource } from "../../lib/resource.ts";
import type { SessionInfo } from "../../lib/session.ts";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge, Empty, Loaded } from "../../ui/state.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Actions } from "./actions.tsx";
import { DetailsTab } from "./details-tab.tsx";
import { LogsTab } from "./logs-tab.tsx";
import { MetricsTab } from "./metrics-tab.tsx";
import { NetworkTab } from "./network-tab.tsx";
import { PortsTab } from "./ports-tab.tsx";
import { ProcessesTab } from "./processes-tab.tsx";
import { TerminalTab } from "./terminal-tab.tsx";

const TABS = [
  ["terminal", "Terminal"],
  ["files", "Files"],
  ["processes", "Processes"],
  ["metrics", "Metrics"],
  ["logs", "Logs"],
  ["network", "Network"],
  ["ports", "Ports"],
  ["details", "Details"],
] as const;

/** These need the agent, and so a sandbox that runs. */
const NEEDS_RUNNING = new Set(["files", "processes", "ports"]);

interface SandboxPageProps {
  readonly id: string;
  readonly tab: string;
  readonly session: SessionInfo;
}

export function SandboxPage({ id, tab, session }: SandboxPageProps) {
  const detail = useResource(`sandbox ${id}`, (signal) => sandbox.get(id, signal), 2000);
  if (detail.error instanceof ApiError && detail.error.status === 404) return <Gone id={id} tab={tab} />;
  return (
    <Page
      title={id}
      fill
      subtitle={detail.data && <Subtitle detail={detail.data} />}
      actions={detail.data && <Actions detail={detail.data} onChanged={detail.reload} />}
    >
      <Tabs label="Parts of the sandbox" base={`/sandboxes/${id}`} current={tab} tabs={TABS} />
      <Loaded from={detail}>{(data) => <Part detail={data} tab={tab} session={session} onChanged={detail.reload} />}</Loaded>
    </Page>
  );
}

function Subtitle({ detail }: { detail: SandboxDetail }) {
  const now = useNow(1000);
  const { state, name, alias, templateID, endAt, sandboxID, health } = detail;
  return (
    <>
      <Badge state={health ?? state} />
      {name !== undefined && <strong>{name}</strong>}
      <span>{alias ?? templateID}</span>
      <span title={fullTime(endAt)} class="steady">
        {state === "paused" ? `paused since ${fullTime(endAt)}` : `ends in ${duration(Date.parse(endAt) - now)}`}
      </span>
      <CopyButton text={sandboxID} what="the id" />
    </>
  );
}

interface PartProps {
  readonly detail: SandboxDetail;
  readonly tab: string;
  readonly session: SessionInfo;
  readonly onChanged: () => Promise<void>;
}

function Part({ detail, tab, session, onChanged }: PartProps) {
  const { sandboxID, envdAccessToken, envdVersion, state } = detail;
  const agent = useMemo(() => agentOf(detail), [sandboxID, envdAccessToken, envdVersion]);
  const isRunning = state === "running";
  if (!isRunning && NEEDS_RUNNING.has(tab)) {
    return (
      <Empty icon="pause" title="The sandbox is paused">
        <p>Its files and processes are kept on disk. Resume it to use them.</p>
      </Empty>
    );
  }
  switch (tab) {
    case "files":
      return <FilesTab agent={agent} />;
    case "processes":
      return <ProcessesTab agent={agent} />;
    case "metrics":
      return <MetricsTab detail={detail} />;
    case "logs":
      return <LogsTab id={sandboxID} />;
    case "ports":
      return <PortsTab agent={agent} detail={detail} domain={session.domain} />;
    case "details":
      return <DetailsTab detail={detail} />;
    case "network":
      return <NetworkTab detail={detail} onChanged={onChanged} />;
    default:
      return <TerminalTab agent={agent} isRunning={isRunning} />;
  }
}

/** The log outlives the sandbox, and says why it ended. */
function Gone({ id, tab }: { id: string; tab: string }) {
  return (
    <Page title={id} fill subtitle={<Badge state="ended" />}>
      <Empty icon="box" title="This sandbox is not there">
        <p>It has ended, or there never was one of this id. What happened to it is in its log for two days.</p>
      </Empty>
      {tab !== "none" && <LogsTab id={id} />}
    </Page>
  );
}

const HOME = "/home/user";
const PLACES = [HOME, "/", "/tmp", "/etc"];

function FilesTab({ agent }: { agent: Agent }) {
  const source = useMemo(() => filesOfSandbox(agent), [agent]);
  return <FileBrowser source={source} home={HOME} places={PLACES} />;
}
