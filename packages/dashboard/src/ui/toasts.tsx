import { useEffect, useState } from "preact/hooks";
import { wordsOf } from "../lib/api-error.ts";

interface Toast {
  readonly number: number;
  readonly text: string;
  readonly isError: boolean;
}

const SHOWN_MS = 6000;
const MAX_TOASTS = 4;

let shown: readonly Toast[] = [];
let count = 0;
let show: (toasts: readonly Toast[]) => void = () => {};

function add(text: string, isError: boolean): void {
  count += 1;
  const toast = { number: count, text, isError };
  shown = [...shown, toast].slice(-MAX_TOASTS);
  show(shown);
  setTimeout(() => remove(toast), isError ? SHOWN_MS * 2 : SHOWN_MS);
}

function remove(toast: Toast): void {
  shown = shown.filter((other) => other !== toast);
  show(shown);
}

/** Says for a moment that something was done. */
export const told = (text: string): void => add(text, false);

/** Says for a moment what failed. */
export const failed = (error: unknown): void => add(wordsOf(error), true);

export function Toasts() {
  const [toasts, setToasts] = useState(shown);
  useEffect(() => {
    show = setToasts;
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.number} class={`toast ${toast.isError ? "error" : ""}`}>
          {toast.text}
        </div>
      ))}
    </div>
  );
}
