import { useRef } from "preact/hooks";
import type { TreeLine } from "../lib/file-tree.ts";
import { bytes } from "../lib/format.ts";
import { Icon } from "./icon.tsx";

interface TreeProps {
  readonly label: string;
  readonly lines: readonly TreeLine[];
  readonly selected: string;
  readonly onSelect: (line: TreeLine) => void;
  readonly onToggle: (line: TreeLine) => void;
}

/** Files and directories, as a tree that the arrow keys walk. */
export function Tree({ label, lines, selected, onSelect, onToggle }: TreeProps) {
  const list = useRef<HTMLDivElement>(null);
  const current = Math.max(
    0,
    lines.findIndex(({ path }) => path === selected),
  );
  const focus = (index: number) => {
    const line = lines[Math.min(Math.max(index, 0), lines.length - 1)];
    if (!line) return;
    onSelect(line);
    const items = list.current?.querySelectorAll<HTMLElement>("[role=treeitem]");
    items?.[lines.indexOf(line)]?.focus();
  };
  const onKey = (event: KeyboardEvent) => {
    const line = lines[current];
    if (!line) return;
    const toggles = event.key === "Enter" || event.key === " " || event.key === (line.isOpen ? "ArrowLeft" : "ArrowRight");
    if (event.key === "ArrowDown") focus(current + 1);
    else if (event.key === "ArrowUp") focus(current - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(lines.length - 1);
    else if (event.key === "ArrowLeft" && !line.isOpen)
      focus(lines.findLastIndex(({ depth }, index) => index < current && depth < line.depth));
    else if (toggles && line.isDirectory) onToggle(line);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={list} role="tree" aria-label={label} class="tree" onKeyDown={onKey}>
      {lines.map((line, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
        <div
          key={line.path}
          role="treeitem"
          aria-level={line.depth}
          aria-selected={line.path === selected}
          aria-expanded={line.isDirectory ? line.isOpen : undefined}
          tabIndex={index === current ? 0 : -1}
          class="tree-line"
          style={{ paddingLeft: `${line.depth * 14 - 6}px` }}
          onClick={() => {
            onSelect(line);
            if (line.isDirectory) onToggle(line);
          }}
        >
          <span class={`tree-arrow ${line.isOpen ? "open" : ""}`}>{line.isDirectory && <Icon name="chevron" />}</span>
          <Icon name={line.isDirectory ? "directory" : "file"} />
          <span class="tree-name">{line.name}</span>
          {!line.isDirectory && <span class="tree-size">{bytes(line.size)}</span>}
        </div>
      ))}
    </div>
  );
}
