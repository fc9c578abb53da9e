import { useEffect, useState } from "preact/hooks";
import { saveAs } from "../lib/clipboard.ts";
import type { FileSource } from "../lib/file-source.ts";
import { bytes } from "../lib/format.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/state.tsx";
import { failed } from "../ui/toasts.tsx";
import { type Content, type OpenFile, readContent } from "./content.ts";
import { PdfView } from "./pdf-view.tsx";
import { TextView } from "./text-view.tsx";

interface FileViewProps {
  readonly source: FileSource;
  readonly file: OpenFile | undefined;
  readonly onSaved: () => Promise<void>;
}

/** Shows a file and lets the person change and save it. */
export function FileView({ source, file, onSaved }: FileViewProps) {
  const [content, setContent] = useState<Content | undefined>(undefined);
  const path = file?.path;
  useEffect(() => {
    setContent(undefined);
    if (!file) return undefined;
    const gone = new AbortController();
    let image: string | undefined;
    readContent(source, file, gone.signal)
      .then((read) => {
        if (read.kind === "image") image = read.address;
        if (gone.signal.aborted) {
          if (image) URL.revokeObjectURL(image);
          return;
        }
        setContent(read);
      })
      .catch((error: unknown) => {
        if (gone.signal.aborted) return;
        failed(error);
        setContent({ kind: "none", why: "It could not be read." });
      });
    return () => {
      gone.abort();
      if (image) URL.revokeObjectURL(image);
    };
  }, [source.id, path]);
  if (!file) {
    return (
      <div class="file-view">
        <Empty icon="file" title="No file is selected">
          <p>Select one to see and change it, or drop files on the list to upload them.</p>
        </Empty>
      </div>
    );
  }
  const download = async () => saveAs(await source.read(file.path), file.name);
  if (content?.kind === "text" || content?.kind === "csv") {
    const table = content.kind === "csv";
    return (
      <TextView
        key={`${source.id} ${file.path}`}
        source={source}
        file={file}
        text={content.text}
        table={table}
        download={download}
        onSaved={onSaved}
      />
    );
  }
  return (
    <div class="file-view">
      <div class="files-bar">
        <span class="file-name mono">{file.path}</span>
        <Button icon="download" onPress={download}>
          Download
        </Button>
      </div>
      {content === undefined ? <div class="skeleton" aria-busy="true" /> : <Shown content={content} file={file} />}
    </div>
  );
}

function Shown({ content, file }: { content: Content; file: OpenFile }) {
  switch (content.kind) {
    case "image":
      return (
        <div class="image-view">
          <img src={content.address} alt={file.name} />
        </div>
      );
    case "pdf":
      return <PdfView key={file.path} name={file.name} data={content.data} />;
    case "none":
      return (
        <Empty icon="file" title={bytes(file.size)}>
          <p>{content.why}</p>
        </Empty>
      );
    default:
      return null;
  }
}
