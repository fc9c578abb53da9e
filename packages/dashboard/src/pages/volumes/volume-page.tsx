import type { VolumeAndToken } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { type VolumeEntry, volumes } from "../../lib/api.ts";
import { saveAs } from "../../lib/clipboard.ts";
import { join, parentOf } from "../../lib/file-tree.ts";
import { bytes, counted, shortTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { Card, Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";
import { told } from "../../ui/toasts.tsx";

export function VolumePage({ id }: { id: string }) {
  const volume = useResource(`volume ${id}`, (signal) => volumes.get(id, signal));
  const [isDeleting, setDeleting] = useState(false);
  const name = volume.data?.name ?? id;
  return (
    <Page
      title={name}
      subtitle={<Link to="/volumes">Volumes</Link>}
      actions={
        <Button kind="danger" icon="trash" onPress={() => setDeleting(true)}>
          Delete
        </Button>
      }
    >
      <Loaded from={volume}>{(data) => <VolumeFiles volume={data} />}</Loaded>
      {isDeleting && (
        <FormDialog
          title={`Delete ${name}?`}
          action="Delete it"
          danger
          onClose={() => setDeleting(false)}
          onSubmit={async () => {
            await volumes.remove(id);
            told(`${name} is deleted.`);
            go("/volumes");
          }}
        >
          <p>
            The volume <strong>{name}</strong> and all of its files are deleted. This cannot be undone.
          </p>
        </FormDialog>
      )}
    </Page>
  );
}

function VolumeFiles({ volume: { volumeID: id, token } }: { volume: VolumeAndToken }) {
  const [path, setPath] = useState("/");
  const [doomed, setDoomed] = useState<VolumeEntry | undefined>(undefined);
  const entries = useResource(`volume ${id} ${path}`, (signal) => volumes.entries(id, token, path, signal), 5000);
  const upload = async (list: FileList | null | undefined) => {
    const files = [...(list ?? [])];
    for (const file of files) await volumes.write(id, token, join(path, file.name), file);
    if (files.length > 0) told(`${counted(files.length, "file")} uploaded to ${path}`);
    await entries.reload();
  };
  const download = async (entry: VolumeEntry) => saveAs(await (await volumes.read(id, token, entry.path)).blob(), entry.name);
  return (
    <Card
      title={`Files in ${path}`}
      actions={
        <span class="row-actions">
          {path !== "/" && (
            <Button kind="quiet" onPress={() => setPath(parentOf(path))}>
              Up
            </Button>
          )}
          <label class="button plain">
            <span>Upload</span>
            <input
              type="file"
              multiple
              class="hidden"
              onChange={(event) => {
                const input = event.currentTarget;
                void upload(input.files);
              }}
            />
          </label>
        </span>
      }
    >
      <Loaded from={entries}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="directory" title="This directory is empty">
              <p>Upload files, or let a sandbox that mounts the volume write some.</p>
            </Empty>
          ) : (
            <Table
              label={`Files in ${path}`}
              rows={list}
              keyOf={(entry) => entry.path}
              columns={[
                {
                  name: "Name",
                  cell: (entry) => (
                    <button
                      type="button"
                      class="link-button"
                      onClick={() => void (entry.type === "directory" ? setPath(entry.path) : download(entry))}
                    >
                      {entry.type === "directory" ? `${entry.name}/` : entry.name}
                    </button>
                  ),
                },
                { name: "Size", cell: ({ type, size }) => (type === "directory" ? "" : bytes(size)), isNumber: true },
                { name: "Changed", cell: ({ mtime }) => shortTime(mtime), isNumber: true, wideOnly: true },
                {
                  name: "",
                  cell: (entry) => (
                    <Button kind="quiet" onPress={() => setDoomed(entry)}>
                      Delete
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {doomed && (
        <FormDialog
          title={`Delete ${doomed.name}?`}
          action="Delete it"
          danger
          onClose={() => setDoomed(undefined)}
          onSubmit={async () => {
            await volumes.removePath(id, token, doomed.path);
            await entries.reload();
          }}
        >
          <p class="mono break">{doomed.path}</p>
        </FormDialog>
      )}
    </Card>
  );
}
