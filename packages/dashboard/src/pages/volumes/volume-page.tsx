import type { VolumeDetail } from "@boxyard/spec/platform-types";
import { useMemo, useState } from "preact/hooks";
import { FileBrowser } from "../../files/file-browser.tsx";
import { volumes } from "../../lib/api.ts";
import { saveAs } from "../../lib/clipboard.ts";
import { filesOfVolume } from "../../lib/file-source.ts";
import { bytes, megabytes } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Loaded } from "../../ui/state.tsx";
import { told } from "../../ui/toasts.tsx";

const PLACES = ["/"];

export function VolumePage({ id }: { id: string }) {
  const volume = useResource(`volume ${id}`, (signal) => volumes.get(id, signal), 10_000);
  const [open, setOpen] = useState<"resize" | "delete" | undefined>(undefined);
  const close = () => setOpen(undefined);
  const { data } = volume;
  const name = data?.name ?? id;
  return (
    <Page
      title={name}
      fill
      subtitle={
        <>
          <Link to="/volumes">Volumes</Link>
          {data && <span>{`${data.usedBytes === undefined ? "" : `${bytes(data.usedBytes)} of `}${megabytes(data.sizeMB)}`}</span>}
        </>
      }
      actions={
        <>
          <Button icon="download" onPress={async () => saveAs(await (await volumes.archive(id)).blob(), `${name}.tar`)}>
            Download all
          </Button>
          <Button icon="size" disabled={!data} onPress={() => setOpen("resize")}>
            Resize
          </Button>
          <Button kind="danger" icon="trash" onPress={() => setOpen("delete")}>
            Delete
          </Button>
        </>
      }
    >
      <Loaded from={volume}>{(one) => <VolumeFiles volume={one} />}</Loaded>
      {open === "resize" && data && <ResizeDialog volume={data} onClose={close} onDone={volume.reload} />}
      {open === "delete" && (
        <FormDialog
          title={`Delete ${name}?`}
          action="Delete it"
          danger
          onClose={close}
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

/** The token is new with each answer, and each is good for as long as the page needs it. */
function VolumeFiles({ volume: { volumeID, token } }: { volume: VolumeDetail }) {
  const source = useMemo(() => filesOfVolume(volumeID, token), [volumeID]);
  return <FileBrowser source={source} home="/" places={PLACES} />;
}

interface ResizeProps {
  readonly volume: VolumeDetail;
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

function ResizeDialog({ volume: { volumeID, name, sizeMB }, onClose, onDone }: ResizeProps) {
  const [size, setSize] = useState(String(sizeMB));
  const submit = async () => {
    await volumes.resize(volumeID, Number(size));
    told(`${name} has ${megabytes(Number(size))}.`);
    await onDone();
  };
  return (
    <FormDialog title={`Resize ${name}`} action="Resize" disabled={Number(size) === sizeMB} onSubmit={submit} onClose={onClose}>
      <Field
        label="Size in MiB"
        type="number"
        min={1}
        hint="What its files may use at most; not below what they use"
        value={size}
        onInput={setSize}
        autoFocus
      />
    </FormDialog>
  );
}
