import { useState } from "preact/hooks";
import type { FileSource } from "../lib/file-source.ts";
import { Button } from "../ui/button.tsx";
import { failed, told } from "../ui/toasts.tsx";
import type { OpenFile } from "./content.ts";
import { CsvView } from "./csv-view.tsx";
import { EditorView } from "./editor-view.tsx";

interface TextViewProps {
  readonly source: FileSource;
  readonly file: OpenFile;
  /** As it was read. */
  readonly text: string;
  /** It is a table, and shown as one at first. */
  readonly table: boolean;
  readonly download: () => Promise<void>;
  readonly onSaved: () => Promise<void>;
}

/** A text in an editor; a table also as a table. Both show what was typed, saved or not. */
export function TextView({ source, file, text, table, download, onSaved }: TextViewProps) {
  const [isTable, setTable] = useState(table);
  const [draft, setDraft] = useState(text);
  const [saved, setSaved] = useState(text);
  const [isBusy, setBusy] = useState(false);
  const isChanged = draft !== saved;
  const save = async (current: string) => {
    setBusy(true);
    try {
      await source.write(file.path, current);
      // What was typed since then is not saved.
      setSaved(current);
      told(`${file.name} is saved`);
      await onSaved();
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="file-view">
      <div class="files-bar">
        <span class="file-name mono">{file.path}</span>
        {table && (
          <Button kind="quiet" onPress={() => setTable(!isTable)}>
            {isTable ? "Text" : "Table"}
          </Button>
        )}
        <Button icon="download" onPress={download}>
          Download
        </Button>
        <Button kind="primary" disabled={!isChanged || isBusy} onPress={() => save(draft)} title="Ctrl+S">
          Save
        </Button>
      </div>
      {isTable ? (
        <CsvView name={file.name} text={draft} />
      ) : (
        <EditorView name={file.name} text={draft} onText={setDraft} onSave={(current) => void save(current).catch(failed)} />
      )}
    </div>
  );
}
