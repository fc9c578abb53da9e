import { useEffect, useRef } from "preact/hooks";
import type { Editor } from "../heavy/editor.ts";
import { failed } from "../ui/toasts.tsx";

interface EditorViewProps {
  readonly name: string;
  /** What it begins with. */
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Control and S. */
  readonly onSave: (text: string) => void;
}

/** A text that is changed. */
export function EditorView({ name, text, onText, onSave }: EditorViewProps) {
  const element = useRef<HTMLDivElement>(null);
  // The editor keeps what it was given; the functions are new each time.
  const now = useRef({ onText, onSave });
  now.current = { onText, onSave };
  useEffect(() => {
    let isOver = false;
    let editor: Editor | undefined;
    import("../heavy/editor.ts")
      .then(({ openEditor }) => {
        if (isOver || !element.current) return;
        editor = openEditor(element.current, {
          text,
          name,
          label: `Content of ${name}`,
          onChange: () => editor && now.current.onText(editor.text()),
          onSave: () => editor && now.current.onSave(editor.text()),
        });
      })
      .catch(failed);
    return () => {
      isOver = true;
      editor?.dispose();
    };
  }, []);
  return <div ref={element} class="editor" />;
}
