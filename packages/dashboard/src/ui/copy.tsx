import { useState } from "preact/hooks";
import { copyText } from "../lib/clipboard.ts";
import { IconButton } from "./button.tsx";
import { failed } from "./toasts.tsx";

const SHOWN_MS = 1500;

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text)))
      return failed(new Error("The browser does not let this page use the clipboard: select the text and copy it"));
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return <IconButton icon={isDone ? "check" : "copy"} label={isDone ? "Copied" : `Copy ${what}`} onPress={copy} />;
}

/** Text for a terminal or a program, with a button that copies it. */
export function Snippet({ text, label }: { text: string; label: string }) {
  return (
    <section class="snippet" aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} what={label} />
    </section>
  );
}
