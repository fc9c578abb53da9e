import { useState } from "preact/hooks";
import { volumes } from "../../lib/api.ts";
import { bytes, megabytes } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";

export function VolumesPage() {
  const list = useResource("volumes", volumes.list, 10_000);
  const [isCreating, setCreating] = useState(false);
  return (
    <Page
      title="Volumes"
      subtitle="Directories that outlive sandboxes, and that several sandboxes can use at once."
      actions={
        <Button kind="primary" icon="plus" onPress={() => setCreating(true)}>
          Create a volume
        </Button>
      }
    >
      <Loaded from={list}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="volume" title="No volume is here">
              <p>Create one, then give its name to sandboxes as a mount. Its files stay when they end.</p>
            </Empty>
          ) : (
            <Table
              label="Volumes"
              rows={all}
              keyOf={({ volumeID }) => volumeID}
              columns={[
                {
                  name: "Name",
                  cell: ({ volumeID, name }) => (
                    <Link to={`/volumes/${volumeID}`} class="strong">
                      {name}
                    </Link>
                  ),
                },
                { name: "Id", cell: ({ volumeID }) => <span class="mono">{volumeID}</span>, wideOnly: true },
                { name: "Used", cell: ({ usedBytes }) => (usedBytes === undefined ? "" : bytes(usedBytes)), isNumber: true },
                { name: "Size", cell: ({ sizeMB }) => megabytes(sizeMB), isNumber: true },
              ]}
            />
          )
        }
      </Loaded>
      {isCreating && <VolumeDialog onClose={() => setCreating(false)} />}
    </Page>
  );
}

function VolumeDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [size, setSize] = useState("1024");
  const create = async () => {
    const { volumeID } = await volumes.create({ name: name.trim(), sizeMB: Number(size) });
    go(`/volumes/${volumeID}`);
  };
  return (
    <FormDialog title="Create a volume" action="Create" disabled={name.trim() === ""} onSubmit={create} onClose={onClose}>
      <Field label="Name" placeholder="data" value={name} onInput={setName} autoFocus />
      <Field label="Size in MiB" type="number" min={1} hint="What its files may use at most" value={size} onInput={setSize} />
    </FormDialog>
  );
}
