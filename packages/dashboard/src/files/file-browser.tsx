import { useEffect, useState } from "preact/hooks";
import { saveAs } from "../lib/clipboard.ts";
import type { FileSource } from "../lib/file-source.ts";
import { type Entry, inOrder, join, type Known, linesOf, parentOf, type TreeLine } from "../lib/file-tree.ts";
import { counted } from "../lib/format.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { FormDialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { failed, told } from "../ui/toasts.tsx";
import { Tree } from "../ui/tree.tsx";
import { FileView } from "./file-view.tsx";

interface FileBrowserProps {
  readonly source: FileSource;
  /** Where it begins; one may go anywhere from there. */
  readonly home: string;
  /** Directories that one often goes to. */
  readonly places: readonly string[];
}

/** The files of a sandbox or of a volume: a tree, and the file that is selected. */
export function FileBrowser({ source, home, places }: FileBrowserProps) {
  const [root, setRoot] = useState(home);
  const [known, setKnown] = useState<Known>(new Map());
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [selected, setSelected] = useState<TreeLine | undefined>(undefined);
  const [dialog, setDialog] = useState<"go" | "directory" | "remove" | undefined>(undefined);
  const [sending, setSending] = useState("");
  const read = async (path: string) => {
    const entries = inOrder(await source.list(path));
    setKnown((before: Known) => new Map<string, readonly Entry[]>(before).set(path, entries));
  };
  useEffect(() => {
    setKnown(new Map());
    setOpen(new Set());
    setSelected(undefined);
    read(root).catch((error: unknown) => {
      // A template may have no such home directory.
      if (root === home) setRoot("/");
      else failed(error);
    });
  }, [root, source]);
  const toggle = (line: TreeLine) => {
    const next = new Set(open);
    if (!next.delete(line.path)) {
      next.add(line.path);
      void read(line.path).catch(failed);
    }
    setOpen(next);
  };
  const directory = selected === undefined ? root : selected.isDirectory ? selected.path : parentOf(selected.path);
  const refresh = () => Promise.all([root, ...open].map(read)).then(() => {});
  const upload = async (list: FileList | null | undefined) => {
    const chosen = [...(list ?? [])];
    try {
      for (const file of chosen) {
        const path = join(directory, file.name);
        await source.upload(path, file, (sentBytes) =>
          setSending(`${file.name}: ${Math.floor((100 * sentBytes) / Math.max(1, file.size))} %`),
        );
      }
      if (chosen.length > 0) told(`${counted(chosen.length, "file")} uploaded to ${directory}`);
    } catch (error) {
      failed(error);
    }
    setSending("");
    await read(directory).catch(failed);
  };
  const download = async (path: string) => {
    if (!source.archive) return;
    setSending(`Packing ${path}…`);
    try {
      saveAs(await source.archive(path), `${path.split("/").at(-1) || "root"}.tar`);
    } finally {
      setSending("");
    }
  };
  const lines = linesOf(root, known, open);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can also be chosen with the button
    <div
      class="files"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void upload(event.dataTransfer?.files);
      }}
    >
      <div class="files-side">
        <div class="files-bar">
          <button type="button" class="path-button mono" title="Go to another directory" onClick={() => setDialog("go")}>
            {root}
          </button>
          <IconButton icon="refresh" label="Read the directories again" onPress={refresh} />
          <IconButton icon="directory" label={`New directory in ${directory}`} onPress={() => setDialog("directory")} />
          <UploadButton directory={directory} onChosen={upload} />
          {source.archive && (
            <IconButton icon="download" label={`Download ${directory} as an archive`} onPress={() => download(directory)} />
          )}
          <IconButton icon="trash" label="Delete what is selected" disabled={!selected} onPress={() => setDialog("remove")} />
        </div>
        <Tree label={`Files in ${root}`} lines={lines} selected={selected?.path ?? ""} onSelect={setSelected} onToggle={toggle} />
        {known.get(root)?.length === 0 && <p class="hint pad">This directory is empty. Drop files here to upload them.</p>}
        <p class="files-foot" role="status">
          {sending || `Dropped files go to ${directory}`}
        </p>
      </div>
      <FileView source={source} file={selected?.isDirectory ? undefined : selected} onSaved={() => read(directory)} />
      {dialog === "go" && (
        <PathDialog start={root} places={places} onClose={() => setDialog(undefined)} onPath={async (path) => setRoot(path)} />
      )}
      {dialog === "directory" && (
        <NameDialog
          directory={directory}
          onClose={() => setDialog(undefined)}
          onName={async (name) => {
            await source.makeDirectory(join(directory, name));
            await read(directory);
          }}
        />
      )}
      {dialog === "remove" && selected && (
        <FormDialog
          title={`Delete ${selected.name}?`}
          action="Delete"
          danger
          onClose={() => setDialog(undefined)}
          onSubmit={async () => {
            await source.remove(selected.path);
            setSelected(undefined);
            await read(parentOf(selected.path));
          }}
        >
          <p>
            <span class="mono break">{selected.path}</span> {selected.isDirectory ? "and everything in it " : ""}is deleted.
          </p>
        </FormDialog>
      )}
    </div>
  );
}

function UploadButton({ directory, onChosen }: { directory: string; onChosen: (list: FileList | null) => Promise<void> }) {
  return (
    <label class="icon-button" title={`Upload files to ${directory}`}>
      <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
        <path d="M8 11V3M4.500 6L8 2.500 11.500 6M2.500 13.500h11" />
      </svg>
      <input
        type="file"
        multiple
        class="hidden"
        aria-label={`Upload files to ${directory}`}
        onChange={(event) => {
          const input = event.currentTarget;
          void onChosen(input.files).then(() => {
            input.value = "";
          });
        }}
      />
    </label>
  );
}

interface PathDialogProps {
  readonly start: string;
  readonly places: readonly string[];
  readonly onPath: (path: string) => Promise<void>;
  readonly onClose: () => void;
}

function PathDialog({ start, places, onPath, onClose }: PathDialogProps) {
  const [path, setPath] = useState(start);
  return (
    <FormDialog
      title="Go to a directory"
      action="Go"
      onSubmit={() => onPath(`/${path.split("/").filter(Boolean).join("/")}`)}
      onClose={onClose}
    >
      <Field label="Path" value={path} onInput={setPath} autoFocus mono />
      <p class="chips">
        {places.map((place) => (
          <Button key={place} kind="quiet" onPress={() => setPath(place)}>
            {place}
          </Button>
        ))}
      </p>
    </FormDialog>
  );
}

interface NameDialogProps {
  readonly directory: string;
  readonly onName: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

function NameDialog({ directory, onName, onClose }: NameDialogProps) {
  const [name, setName] = useState("");
  return (
    <FormDialog title="New directory" action="Make it" disabled={name.trim() === ""} onSubmit={() => onName(name.trim())} onClose={onClose}>
      <Field label={`Name, in ${directory}`} value={name} onInput={setName} autoFocus mono />
    </FormDialog>
  );
}
