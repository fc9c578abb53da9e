import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { wordsOf } from "../lib/api-error.ts";
import { Button, IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose: () => void;
}

/** A modal dialog: the browser keeps the focus inside, gives it back at the end, and closes it with Escape. */
export function Dialog({ title, children, onClose }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    element.current?.showModal();
    // The browser chooses the first thing that can have the focus, which closes the dialog.
    element.current?.querySelector<HTMLElement>("form :is(input, select, textarea)")?.focus();
  }, []);
  return (
    <dialog ref={element} class="dialog" aria-labelledby={heading} onClose={onClose}>
      <header>
        <h2 id={heading}>{title}</h2>
        <IconButton icon="close" label="Close" onPress={() => element.current?.close()} />
      </header>
      {children}
    </dialog>
  );
}

interface FormDialogProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Words of the button that does it. */
  readonly action: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onSubmit: () => Promise<void>;
  readonly onClose: () => void;
}

/** A dialog with one action. A failure is shown in it, and it stays open. */
export function FormDialog({ title, children, action, danger = false, disabled = false, onSubmit, onClose }: FormDialogProps) {
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setProblem("");
    try {
      await onSubmit();
      onClose();
    } catch (error) {
      setProblem(wordsOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <div class="dialog-body">
          {children}
          {problem !== "" && (
            <p class="problem" role="alert">
              {problem}
            </p>
          )}
        </div>
        <footer>
          <Button kind="quiet" onPress={onClose}>
            Cancel
          </Button>
          <Button kind={danger ? "danger" : "primary"} type="submit" disabled={disabled || isBusy}>
            {action}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}
