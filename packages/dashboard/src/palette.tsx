import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { AREAS } from "./areas.ts";
import { listSandboxes, templates } from "./lib/api.ts";
import { useResource } from "./lib/resource.ts";
import { go } from "./lib/router.ts";
import { signOut } from "./lib/session.ts";
import { nextTheme } from "./lib/theme.ts";
import { Icon, type IconName } from "./ui/icon.tsx";

interface Entry {
  readonly id: string;
  readonly text: string;
  readonly more: string;
  readonly icon: IconName;
  run(): void;
}

const MOST = 12;

/** A list of everything that one can go to or do, found by typing. */
export function Palette({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  useLayoutEffect(() => element.current?.showModal(), []);
  const found = useEntries(text);
  const chosen = Math.min(at, found.length - 1);
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    element.current?.close();
    entry.run();
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === "ArrowUp") setAt(Math.max(chosen - 1, 0));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={element} class="dialog palette" aria-label="Go to" onClose={onClose}>
      <input
        class="palette-input"
        role="combobox"
        aria-label="Go to a page, a sandbox or a template, or do something"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found[chosen] ? `palette-${found[chosen].id}` : undefined}
        placeholder="A page, a sandbox, a template…"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div id="palette-list" role="listbox" aria-label="Results" class="palette-list">
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input takes the keys
          <div
            key={entry.id}
            id={`palette-${entry.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === chosen}
            class="palette-entry"
            onClick={() => run(entry)}
          >
            <Icon name={entry.icon} />
            <span>{entry.text}</span>
            <span class="muted">{entry.more}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p class="palette-none">Nothing has this name.</p>}
    </dialog>
  );
}

function useEntries(text: string): Entry[] {
  const { data: sandboxes = [] } = useResource("sandboxes", listSandboxes);
  const { data: known = [] } = useResource("templates", templates.list);
  const all: Entry[] = [
    ...AREAS.map(({ path, name, icon }) => ({ id: `area-${name}`, text: name, more: "Page", icon, run: () => go(path) })),
    { id: "new", text: "Create a sandbox", more: "Action", icon: "plus", run: () => go("/sandboxes?new") },
    { id: "theme", text: "Change between light and dark", more: "Action", icon: "sun", run: nextTheme },
    { id: "out", text: "Sign out", more: "Action", icon: "leave", run: () => void signOut() },
    ...sandboxes.map(({ sandboxID, alias, templateID }) => ({
      id: sandboxID,
      text: sandboxID,
      more: alias ?? templateID,
      icon: "box" as const,
      run: () => go(`/sandboxes/${sandboxID}`),
    })),
    ...known.map(({ templateID, names }) => ({
      id: templateID,
      text: names[0] ?? templateID,
      more: "Template",
      icon: "template" as const,
      run: () => go(`/templates/${encodeURIComponent(templateID)}`),
    })),
  ];
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((entry) => {
      const name = `${entry.text} ${entry.more}`.toLowerCase();
      return words.every((word) => name.includes(word));
    })
    .slice(0, MOST);
}
