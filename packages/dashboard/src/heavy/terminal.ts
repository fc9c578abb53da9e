import { FitAddon } from "@xterm/addon-fit";
import { type ITheme, Terminal } from "@xterm/xterm";
import { isDark } from "../lib/theme.ts";
import { withoutInlineStyles } from "./inline-styles.ts";

const SCROLLBACK_LINES = 10_000;

const DARK: ITheme = {
  background: "#10141a",
  foreground: "#d8dee6",
  cursor: "#7fd1c3",
  selectionBackground: "#2f4f5a",
  black: "#2b323b",
  red: "#ef7a7a",
  green: "#7cc48a",
  yellow: "#e0b866",
  blue: "#79aef0",
  magenta: "#c398e8",
  cyan: "#6cc7c7",
  white: "#d8dee6",
  brightBlack: "#7b8794",
  brightRed: "#ff9a94",
  brightGreen: "#9be0a8",
  brightYellow: "#f2cf86",
  brightBlue: "#a3c8ff",
  brightMagenta: "#d9b8f5",
  brightCyan: "#93e0e0",
  brightWhite: "#ffffff",
};
const LIGHT: ITheme = {
  background: "#fbfbfa",
  foreground: "#23282e",
  cursor: "#0d7a6f",
  selectionBackground: "#bfe3dd",
  black: "#23282e",
  red: "#b3261e",
  green: "#216e39",
  yellow: "#825b00",
  blue: "#0b5cad",
  magenta: "#7b3fa8",
  cyan: "#0b6e75",
  white: "#5b6570",
  brightBlack: "#5b6570",
  brightRed: "#b3261e",
  brightGreen: "#216e39",
  brightYellow: "#825b00",
  brightBlue: "#0b5cad",
  brightMagenta: "#7b3fa8",
  brightCyan: "#0b6e75",
  brightWhite: "#23282e",
};

export interface ScreenEvents {
  readonly onInput: (text: string) => void;
  readonly onResize: (cols: number, rows: number) => void;
  readonly onTitle: (title: string) => void;
  /** A link that the person has clicked; the program in the terminal has written it. */
  readonly onLink: (address: string) => void;
}

/** A terminal on the page: what is typed comes out, what programs write goes in. */
export interface Screen {
  readonly size: { readonly cols: number; readonly rows: number };
  /** Resolves when the terminal has taken the bytes. */
  write(bytes: Uint8Array | string): Promise<void>;
  /** While true, questions of programs to the terminal are not answered: they stand in old output, and the answers would be typed into the shell. */
  isReplay(replays: boolean): void;
  fit(): void;
  focus(): void;
  dispose(): void;
}

/** Shows a terminal in an element. */
export function openScreen(element: HTMLElement, events: ScreenEvents): Screen {
  const terminal = new Terminal({
    cursorBlink: false,
    fontFamily: "ui-monospace, SFMono-Regular, Menlo, 'DejaVu Sans Mono', monospace",
    fontSize: 13,
    lineHeight: 1.25,
    minimumContrastRatio: 4.5,
    scrollback: SCROLLBACK_LINES,
    screenReaderMode: true,
    theme: isDark() ? DARK : LIGHT,
    linkHandler: { activate: (_event, address) => events.onLink(address), allowNonHttpProtocols: false },
  });
  const fitting = new FitAddon();
  terminal.loadAddon(fitting);
  const styles = withoutInlineStyles(() => terminal.open(element));
  fitting.fit();
  let replays = false;
  leaveUnanswered(terminal, () => replays);
  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type === "keydown" && event.ctrlKey && event.shiftKey && event.key.toLowerCase() === "c") {
      void navigator.clipboard?.writeText(terminal.getSelection());
      event.preventDefault();
      return false;
    }
    return true;
  });
  const onTheme = () => {
    terminal.options.theme = isDark() ? DARK : LIGHT;
  };
  addEventListener("themechange", onTheme);
  const observer = new ResizeObserver(() => element.clientHeight > 0 && fitting.fit());
  observer.observe(element);
  terminal.onData(events.onInput);
  terminal.onBinary(events.onInput);
  terminal.onResize(({ cols, rows }) => events.onResize(cols, rows));
  terminal.onTitleChange(events.onTitle);
  return {
    get size() {
      return { cols: terminal.cols, rows: terminal.rows };
    },
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    isReplay(now) {
      replays = now;
    },
    fit: () => fitting.fit(),
    focus: () => terminal.focus(),
    dispose() {
      removeEventListener("themechange", onTheme);
      observer.disconnect();
      terminal.dispose();
      styles.dispose();
    },
  };
}

/** Takes the questions that a terminal answers (what it is, where the cursor is, its modes and colours) while `isQuiet` says so. */
function leaveUnanswered({ parser }: Terminal, isQuiet: () => boolean): void {
  const sequences = [
    { final: "c" },
    { prefix: ">", final: "c" },
    { prefix: "=", final: "c" },
    { final: "n" },
    { prefix: "?", final: "n" },
    { intermediates: "$", final: "p" },
    { prefix: "?", intermediates: "$", final: "p" },
    { final: "t" },
  ];
  for (const sequence of sequences) parser.registerCsiHandler(sequence, isQuiet);
  parser.registerDcsHandler({ intermediates: "$", final: "q" }, isQuiet);
  for (const color of [4, 10, 11, 12]) parser.registerOscHandler(color, isQuiet);
}
