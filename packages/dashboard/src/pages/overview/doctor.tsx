import type { ServerState } from "@boxyard/spec/platform-types";
import { clockTime, counted } from "../../lib/format.ts";
import { Card } from "../../ui/page.tsx";
import { Badge } from "../../ui/state.tsx";

const WORDS = { ok: "ok", warn: "warning", fail: "failed" } as const;

/** What `boxyard doctor` says: first what is not well, with what to do. */
export function Doctor({ state: { checks, checkedAt } }: { state: ServerState }) {
  const notWell = checks.filter(({ status }) => status !== "ok");
  const well = checks.filter(({ status }) => status === "ok");
  return (
    <Card title="Doctor" actions={<span class="muted">{`checked at ${clockTime(checkedAt)}`}</span>}>
      {notWell.length === 0 && <p>Nothing is wrong with the machine or the server.</p>}
      {notWell.length > 0 && <Checks of={notWell} />}
      <details>
        <summary>{counted(well.length, "check is well", "checks are well")}</summary>
        <Checks of={well} />
      </details>
    </Card>
  );
}

/** Sandboxes cannot run: why, and what to do, at the top of the page. */
export function Broken({ state: { checks } }: { state: ServerState }) {
  const failed = checks.filter(({ status }) => status === "fail");
  return (
    <div class="banner bad" role="alert">
      <span>{failed.map(({ found, fix }) => `${found}. ${fix ?? ""}`).join(" ")}</span>
    </div>
  );
}

function Checks({ of }: { of: ServerState["checks"] }) {
  return (
    <ul class="checks">
      {of.map(({ name, status, found, fix }) => (
        <li key={name}>
          <div class="check-head">
            <Badge state={WORDS[status]} />
            <span class="strong">{name}</span>
          </div>
          <p class="break">{found}</p>
          {fix !== undefined && <p class="muted break">{fix}</p>}
        </li>
      ))}
    </ul>
  );
}
