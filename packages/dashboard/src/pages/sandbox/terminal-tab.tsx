import { useEffect, useRef, useState } from "preact/hooks";
import type { Screen } from "../../heavy/terminal.ts";
import type { Agent } from "../../lib/agent.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { failed } from "../../ui/toasts.tsx";
import { type Connection, TERMINAL_TAG, TerminalSession } from "./terminal-session.ts";

interface Shell {
  readonly number: number;
  readonly pid?: number | undefined;
}

/** Each holds one of the six connections that a browser has to a server for all its tabs; what is typed, and the rest of the page, need one too. */
const MAX_SHELLS = 4;
const LONGEST_TITLE = 32;
let count = 0;

const newShell = (pid?: number): Shell => ({ number: ++count, pid });

/** Terminals of the sandbox, each with a shell of its own that outlives the page. */
export function TerminalTab({ agent, isRunning }: { agent: Agent; isRunning: boolean }) {
  const [shells, setShells] = useState<readonly Shell[] | undefined>(undefined);
  const [current, setCurrent] = useState(0);
  const sessions = useRef(new Map<number, TerminalSession>());
  const [titles, setTitles] = useState<Readonly<Record<number, string>>>({});
  useEffect(() => {
    if (!isRunning || shells !== undefined) return;
    agent.commands
      .list()
      .then((processes) => {
        const found = processes.filter(({ tag }) => tag === TERMINAL_TAG).slice(0, MAX_SHELLS);
        const all = found.length > 0 ? found.map(({ pid }) => newShell(pid)) : [newShell()];
        setShells(all);
        setCurrent(all[0]?.number ?? 0);
      })
      .catch(failed);
  }, [agent, isRunning, shells]);
  const add = () => {
    const shell = newShell();
    setShells([...(shells ?? []), shell].slice(-MAX_SHELLS));
    setCurrent(shell.number);
  };
  const close = (shell: Shell) => {
    const rest = (shells ?? []).filter((other) => other !== shell);
    setShells(rest);
    if (current === shell.number) setCurrent(rest.at(-1)?.number ?? 0);
    // Else the shell runs on, as it does when the page is closed.
    sessions.current.get(shell.number)?.kill().catch(failed);
    sessions.current.delete(shell.number);
  };
  if (shells === undefined)
    return <div class="terminal-empty">{isRunning ? "Opening a terminal…" : "The sandbox is paused. Resume it to open a terminal."}</div>;
  return (
    <div class="terminals">
      <div class="terminal-tabs">
        {shells.map((shell, index) => (
          <div key={shell.number} class={`terminal-tab ${shell.number === current ? "current" : ""}`}>
            <button type="button" aria-pressed={shell.number === current} onClick={() => setCurrent(shell.number)}>
              {(titles[shell.number] || `Terminal ${index + 1}`).slice(0, LONGEST_TITLE)}
            </button>
            <IconButton icon="close" label={`Close terminal ${index + 1} and end its shell`} onPress={() => close(shell)} />
          </div>
        ))}
        <IconButton icon="plus" label="New terminal" disabled={!isRunning || shells.length >= MAX_SHELLS} onPress={add} />
      </div>
      {shells.length === 0 && (
        <div class="terminal-empty">
          <Button icon="plus" onPress={add}>
            New terminal
          </Button>
        </div>
      )}
      {shells.map((shell) => (
        <TerminalView
          key={shell.number}
          agent={agent}
          shell={shell}
          isShown={shell.number === current}
          isRunning={isRunning}
          onSession={(session) => sessions.current.set(shell.number, session)}
          onTitle={(title) => setTitles((all) => ({ ...all, [shell.number]: title }))}
        />
      ))}
    </div>
  );
}

interface TerminalViewProps {
  readonly agent: Agent;
  readonly shell: Shell;
  readonly isShown: boolean;
  readonly isRunning: boolean;
  readonly onTitle: (title: string) => void;
  readonly onSession: (session: TerminalSession) => void;
}

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "Connecting…",
  open: "",
  lost: "The connection is lost. Trying again…",
  ended: "The shell has ended.",
};

function TerminalView({ agent, shell, isShown, isRunning, onTitle, onSession }: TerminalViewProps) {
  const element = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | undefined>(undefined);
  const session = useRef<TerminalSession | undefined>(undefined);
  const [state, setState] = useState<Connection>("connecting");
  const [link, setLink] = useState<string | undefined>(undefined);
  useEffect(() => {
    let isOver = false;
    import("../../heavy/terminal.ts")
      .then(({ openScreen }) => {
        if (isOver || !element.current) return;
        screen.current = openScreen(element.current, {
          onInput: (text) => void session.current?.input(text),
          onResize: (cols, rows) => void session.current?.resize(cols, rows),
          onTitle,
          onLink: setLink,
        });
        session.current = new TerminalSession({ agent, screen: screen.current, pid: shell.pid, onState: setState });
        onSession(session.current);
        screen.current.focus();
      })
      .catch(failed);
    return () => {
      isOver = true;
      session.current?.dispose();
      screen.current?.dispose();
    };
  }, [agent, shell]);
  useEffect(() => {
    if (isRunning) session.current?.tryNow();
  }, [isRunning]);
  useEffect(() => {
    if (!isShown) return;
    screen.current?.fit();
    screen.current?.focus();
  }, [isShown]);
  useEffect(() => {
    // The button that resumed the sandbox has gone, and the focus with it.
    if (state === "open" && isShown && document.activeElement === document.body) screen.current?.focus();
  }, [state, isShown]);
  const words = state === "lost" && !isRunning ? "The sandbox is paused. The terminal goes on when it is resumed." : WORDS[state];
  return (
    <div class={`terminal-view ${isShown ? "" : "away"}`} data-state={state}>
      <div ref={element} class="terminal-screen" />
      {words !== "" && (
        <div class="terminal-words" role="status">
          {words}
        </div>
      )}
      {link !== undefined && <LinkDialog address={link} onClose={() => setLink(undefined)} />}
    </div>
  );
}

/** A program in the sandbox has written the link, so the person sees where it leads before it is opened. */
function LinkDialog({ address, onClose }: { address: string; onClose: () => void }) {
  const open = async () => void window.open(address, "_blank", "noopener,noreferrer");
  return (
    <FormDialog title="Open this link?" action="Open" onSubmit={open} onClose={onClose}>
      <p>A program in the sandbox has written it:</p>
      <p class="mono break">{address}</p>
    </FormDialog>
  );
}
