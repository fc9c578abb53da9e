import type { ListedSandbox, ServerState } from "@boxyard/spec/platform-types";
import { listSandboxes } from "../../lib/api.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { useServer } from "../../lib/server-api.ts";
import type { SessionInfo } from "../../lib/session.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Page } from "../../ui/page.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Capacity } from "./capacity.tsx";
import { Broken, Doctor } from "./doctor.tsx";
import { Figures } from "./figures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import { LastEvents, Newest } from "./lately.tsx";
import { LimitsMet } from "./limits-met.tsx";
import { Work } from "./work.tsx";

export function OverviewPage({ session }: { session: SessionInfo }) {
  const sandboxes = useResource("sandboxes", listSandboxes, 3000);
  const server = useServer(3000);
  return (
    <Page
      title="Overview"
      subtitle={
        <>
          <span class="address">
            <span class="mono">{session.url}</span>
            <CopyButton text={session.url} what="the address" />
          </span>
          <a href="/openapi.json">API</a>
          <a href="/openapi/agent.json">API of a sandbox's agent</a>
          <a href="/llms.txt">For language models</a>
        </>
      }
      actions={
        <Button kind="primary" icon="plus" onPress={() => go("/sandboxes?new")}>
          Create a sandbox
        </Button>
      }
    >
      <Loaded from={sandboxes}>
        {(list) => <Loaded from={server}>{(state) => <Content list={list} state={state} session={session} />}</Loaded>}
      </Loaded>
    </Page>
  );
}

interface ContentProps {
  readonly list: readonly ListedSandbox[];
  /** `null`: the person may see what the own team has, and not how the server is. */
  readonly state: ServerState | null;
  readonly session: SessionInfo;
}

/** What changes by itself has a fixed height, so that nothing moves under the hand of a person. */
function Content({ list, state, session }: ContentProps) {
  return (
    <>
      {state?.verdict === "fail" && <Broken state={state} />}
      <Figures list={list} state={state} />
      {list.length === 0 && <FirstSteps session={session} />}
      <div class="pair">
        <div class="stack">
          {state && <Work state={state} />}
          <Newest list={list} />
          {state && <LimitsMet state={state} />}
        </div>
        <div class="stack">
          {state && <Capacity state={state} />}
          <LastEvents />
          {state && <Doctor state={state} />}
        </div>
      </div>
    </>
  );
}
