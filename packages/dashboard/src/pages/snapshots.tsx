import type { SnapshotInfo } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { listSnapshots, templates } from "../lib/api.ts";
import { bytes, fullTime, shortTime } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy.tsx";
import { FormDialog } from "../ui/dialog.tsx";
import { Link } from "../ui/link.tsx";
import { Page } from "../ui/page.tsx";
import { Empty, Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";
import { told } from "../ui/toasts.tsx";
import { CreateDialog } from "./sandboxes/create-dialog.tsx";

export function SnapshotsPage() {
  const snapshots = useResource("snapshots", (signal) => listSnapshots("", signal), 5000);
  const [open, setOpen] = useState<{ readonly what: "create" | "delete"; readonly of: SnapshotInfo } | undefined>(undefined);
  const close = () => setOpen(undefined);
  const nameOf = ({ names, snapshotID }: SnapshotInfo) => names[0] ?? snapshotID;
  return (
    <Page title="Snapshots" subtitle="Stored states of sandboxes, memory included. Other sandboxes start from them.">
      <Loaded from={snapshots}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="snapshot" title="No snapshot is here" command="./boxyard snapshot create SANDBOX">
              <p>Open a sandbox and press Snapshot, or use a terminal:</p>
            </Empty>
          ) : (
            <Table
              label="Snapshots"
              rows={list}
              keyOf={({ snapshotID }) => snapshotID}
              columns={[
                {
                  name: "Snapshot",
                  cell: ({ snapshotID }) => (
                    <span class="address">
                      <span class="mono strong">{snapshotID}</span>
                      <CopyButton text={snapshotID} what="the id" />
                    </span>
                  ),
                },
                {
                  name: "Sandbox",
                  cell: ({ sandboxID }) => (
                    <Link to={`/sandboxes/${sandboxID}`} class="mono">
                      {sandboxID}
                    </Link>
                  ),
                  wideOnly: true,
                },
                { name: "Size", cell: ({ sizeBytes }) => (sizeBytes === undefined ? "" : bytes(sizeBytes)), isNumber: true },
                {
                  name: "Made",
                  cell: ({ createdAt }) => <span title={fullTime(createdAt)}>{shortTime(createdAt)}</span>,
                  wideOnly: true,
                },
                { name: "Kept until", cell: ({ deleteAt }) => (deleteAt ? shortTime(deleteAt) : ""), wideOnly: true },
                {
                  name: "",
                  cell: (one) => (
                    <span class="row-actions">
                      <Button kind="quiet" icon="play" onPress={() => setOpen({ what: "create", of: one })}>
                        Start a sandbox
                      </Button>
                      <Button kind="quiet" onPress={() => setOpen({ what: "delete", of: one })}>
                        Delete
                      </Button>
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {open?.what === "create" && <CreateDialog from={open.of.snapshotID} onClose={close} />}
      {open?.what === "delete" && (
        <FormDialog
          title={`Delete ${nameOf(open.of)}?`}
          action="Delete it"
          danger
          onClose={close}
          onSubmit={async () => {
            await templates.remove(open.of.snapshotID);
            told(`${nameOf(open.of)} is deleted.`);
            await snapshots.reload();
          }}
        >
          <p>No sandbox can start from it or be rolled back to it any more.</p>
        </FormDialog>
      )}
    </Page>
  );
}
