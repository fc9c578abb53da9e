import { useEffect, useRef, useState } from "preact/hooks";
import type { Editor } from "../../heavy/editor.ts";
import type { Agent } from "../../lib/agent.ts";
import { saveAs } from "../../lib/clipboard.ts";
import type { TreeLine } from "../../lib/file-tree.ts";
import { bytes } from "../../lib/format.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/state.tsx";
import { failed, told } from "../../ui/toasts.tsx";

/** Larger files are not shown; they can be downloaded. */
const MOST_TEXT = 2 * 2 ** 20;
const MOST_IMAGE = 20 * 2 ** 20;
const IMAGES: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  svg: "image/svg+xml",
};

type Content = { readonly text: string } | { readonly image: string } | { readonly why: string };

interface FileViewProps {
  readonly agent: Agent;
  readonly line: TreeLine | undefined;
  readonly onSaved: () => Promise<void>;
}

/** Shows a file and lets the person change and save it. */
export function FileView({ agent, line, onSaved }: FileViewProps) {
  const [content, setContent] = useState<Content | undefined>(undefined);
  const path = line?.path;
  useEffect(() => {
    setContent(undefined);
    if (!line) return undefined;
    const gone = new AbortController();
    let image: string | undefined;
    readContent(agent, line, gone.signal)
      .then((read) => {
        if (gone.signal.aborted) return;
        if ("image" in read) image = read.image;
        setContent(read);
      })
      .catch((error: unknown) => !gone.signal.aborted && failed(error));
    return () => {
      gone.abort();
      if (image) URL.revokeObjectURL(image);
    };
  }, [agent, path]);
  if (!line) {
    return (
      <div class="file-view">
        <Empty icon="file" title="No file is selected">
          <p>Select one to see and change it, or drop files on the list to upload them.</p>
        </Empty>
      </div>
    );
  }
  const download = async () => saveAs(await agent.files.read(line.path, { format: "blob", requestTimeoutMs: 0 }), line.name);
  if (content && "text" in content)
    return <TextView key={line.path} agent={agent} line={line} text={content.text} download={download} onSaved={onSaved} />;
  return (
    <div class="file-view">
      <div class="files-bar">
        <span class="file-name mono">{line.path}</span>
        <Button icon="download" onPress={download}>
          Download
        </Button>
      </div>
      {content === undefined && <div class="skeleton" aria-busy="true" />}
      {content && "image" in content && (
        <div class="image-view">
          <img src={content.image} alt={line.name} />
        </div>
      )}
      {content && "why" in content && (
        <Empty icon="file" title={bytes(line.size)}>
          <p>{content.why}</p>
        </Empty>
      )}
    </div>
  );
}

async function readContent({ files }: Agent, { path, name, size }: TreeLine, signal: AbortSignal): Promise<Content> {
  const type = IMAGES[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ""];
  if (type && size <= MOST_IMAGE) {
    const data = await files.read(path, { format: "blob", signal });
    // An image element runs no script, also not of an SVG.
    return { image: URL.createObjectURL(new Blob([data], { type })) };
  }
  if (size > MOST_TEXT) return { why: `Only text of up to ${bytes(MOST_TEXT)} is shown here.` };
  const data = await files.read(path, { format: "bytes", signal });
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(data);
    return text.includes("\0") ? { why: "It is no text." } : { text };
  } catch {
    return { why: "It is no text in UTF-8." };
  }
}

interface TextViewProps {
  readonly agent: Agent;
  readonly line: TreeLine;
  readonly text: string;
  readonly download: () => Promise<void>;
  readonly onSaved: () => Promise<void>;
}

function TextView({ agent, line, text, download, onSaved }: TextViewProps) {
  const element = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | undefined>(undefined);
  const [isChanged, setChanged] = useState(false);
  const save = async () => {
    if (!editor.current) return;
    await agent.files.write(line.path, editor.current.text());
    setChanged(false);
    told(`${line.name} is saved`);
    await onSaved();
  };
  useEffect(() => {
    let isOver = false;
    import("../../heavy/editor.ts")
      .then(({ openEditor }) => {
        if (isOver || !element.current) return;
        const events = { onChange: () => setChanged(true), onSave: () => void save().catch(failed) };
        editor.current = openEditor(element.current, { text, name: line.name, label: `Content of ${line.name}`, ...events });
      })
      .catch(failed);
    return () => {
      isOver = true;
      editor.current?.dispose();
    };
  }, [line.path, text]);
  return (
    <div class="file-view">
      <div class="files-bar">
        <span class="file-name mono">{line.path}</span>
        <Button icon="download" onPress={download}>
          Download
        </Button>
        <Button kind="primary" disabled={!isChanged} onPress={save} title="Ctrl+S">
          Save
        </Button>
      </div>
      <div ref={element} class="editor" />
    </div>
  );
}
