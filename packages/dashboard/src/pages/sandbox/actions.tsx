import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { listSnapshots, sandbox } from "../../lib/api.ts";
import { counted } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Choice, Field } from "../../ui/field.tsx";
import { told } from "../../ui/toasts.tsx";
import { type ActionDialogProps, LifetimeDialog, RenameDialog, ResizeDialog } from "./change-dialogs.tsx";

const RESUMED_SECONDS = 900;

interface ActionsProps {
  readonly detail: SandboxDetail;
  readonly onChanged: () => Promise<void>;
}

type Open = "resize" | "rename" | "extend" | "fork" | "snapshot" | "rollback" | "kill" | undefined;

/** What one can do with the sandbox as a whole. */
export function Actions({ detail, onChanged }: ActionsProps) {
  const [open, setOpen] = useState<Open>(undefined);
  const { sandboxID: id, state } = detail;
  const close = () => setOpen(undefined);
  const then = async (done: Promise<unknown>, text: string) => {
    await done;
    told(text);
    await onChanged();
  };
  const dialogs = { id, onClose: close, then };
  return (
    <>
      {state === "running" ? (
        <>
          <Button icon="pause" onPress={() => then(sandbox.pause(id, true), "Paused. Files, memory and processes are kept.")}>
            Pause
          </Button>
          <Button icon="clock" onPress={() => setOpen("extend")}>
            Lifetime
          </Button>
          <Button icon="fork" onPress={() => setOpen("fork")}>
            Fork
          </Button>
          <Button icon="snapshot" onPress={() => setOpen("snapshot")}>
            Snapshot
          </Button>
          <Button icon="size" onPress={() => setOpen("resize")}>
            Resize
          </Button>
        </>
      ) : (
        <Button kind="primary" icon="play" onPress={() => then(sandbox.resume(id, RESUMED_SECONDS), "Resumed.")}>
          Resume
        </Button>
      )}
      <Button icon="pen" onPress={() => setOpen("rename")}>
        Rename
      </Button>
      <Button icon="undo" onPress={() => setOpen("rollback")}>
        Roll back
      </Button>
      <Button kind="danger" icon="trash" onPress={() => setOpen("kill")}>
        Kill
      </Button>
      {open === "extend" && <LifetimeDialog {...dialogs} idleTimeout={detail.idleTimeout} />}
      {open === "resize" && <ResizeDialog {...dialogs} detail={detail} />}
      {open === "rename" && <RenameDialog {...dialogs} detail={detail} />}
      {open === "fork" && <ForkDialog {...dialogs} />}
      {open === "snapshot" && <SnapshotDialog {...dialogs} />}
      {open === "rollback" && <RollbackDialog {...dialogs} />}
      {open === "kill" && <KillDialog {...dialogs} />}
    </>
  );
}

function ForkDialog({ id, onClose }: ActionDialogProps) {
  const [count, setCount] = useState("1");
  const submit = async () => {
    const results = await sandbox.fork(id, Number(count), RESUMED_SECONDS);
    const made = results.flatMap((one) => one.sandbox?.sandboxID ?? []);
    const [problem] = results.flatMap((one) => one.error?.message ?? []);
    if (made.length === 0) throw new Error(problem ?? "No fork was made");
    told(`${counted(made.length, "fork")} of ${results.length} made${problem ? `: ${problem}` : "."}`);
    go(made.length === 1 ? `/sandboxes/${made[0]}` : "/sandboxes");
  };
  return (
    <FormDialog title="Fork" action="Fork" onSubmit={submit} onClose={onClose}>
      <p>Copies that run on from the present state, memory and processes included. They live for 15 minutes.</p>
      <Field label="Copies" type="number" min={1} max={100} value={count} onInput={setCount} autoFocus />
    </FormDialog>
  );
}

function SnapshotDialog({ id, onClose, then }: ActionDialogProps) {
  const [name, setName] = useState("");
  const submit = () => then(sandbox.snapshot(id, name.trim()), "The snapshot was taken; the sandbox runs on.");
  return (
    <FormDialog title="Take a snapshot" action="Take it" onSubmit={submit} onClose={onClose}>
      <p>
        The present state, memory included. Other sandboxes can start from it, and this one can be rolled back to it. The files of volumes
        are not in it.
      </p>
      <Field label="Name" placeholder="optional" hint="Lower-case letters, digits, - and _" value={name} onInput={setName} autoFocus />
    </FormDialog>
  );
}

function RollbackDialog({ id, onClose, then }: ActionDialogProps) {
  const known = useResource(`snapshots of ${id}`, (signal) => listSnapshots(`?sandboxID=${encodeURIComponent(id)}`, signal));
  const [chosen, setChosen] = useState("");
  const list = known.data ?? [];
  const snapshot = chosen || list[0]?.snapshotID || "";
  const submit = () => then(sandbox.rollback(id, snapshot), "The sandbox is as it was in the snapshot.");
  return (
    <FormDialog title={`Roll back ${id}`} action="Roll back" danger disabled={snapshot === ""} onSubmit={submit} onClose={onClose}>
      {known.data && list.length === 0 ? (
        <p>There is no snapshot of this sandbox. Take one first, while it runs.</p>
      ) : (
        <>
          <p>Disk and processes become those of the snapshot. What has changed since then is lost. Volumes stay as they are.</p>
          <Choice
            label="Snapshot"
            value={snapshot}
            onChange={setChosen}
            options={list.map(({ snapshotID, names }) => [snapshotID, names[0] ?? snapshotID] as const)}
          />
        </>
      )}
    </FormDialog>
  );
}

function KillDialog({ id, onClose }: ActionDialogProps) {
  const [typed, setTyped] = useState("");
  const submit = async () => {
    await sandbox.kill(id);
    told(`${id} is gone.`);
    go("/sandboxes");
  };
  const end = id.slice(-4);
  return (
    <FormDialog title={`Kill ${id}`} action="Kill it" danger disabled={typed !== end} onSubmit={submit} onClose={onClose}>
      <p>
        The sandbox <strong class="mono">{id}</strong> ends at once, and its files are deleted. Snapshots of it stay.
      </p>
      <Field label={`The last four characters of its id, ${end}`} value={typed} onInput={setTyped} autoFocus mono />
    </FormDialog>
  );
}
