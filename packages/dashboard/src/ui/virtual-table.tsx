import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Height of a row in the style sheet, in pixels. */
const ROW = 44;
/** Rows that are made above and below the visible ones. */
const MARGIN = 12;

export interface VirtualColumn<T> {
  readonly name: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What rows are ordered by in this column. */
  readonly by?: (row: T) => string | number;
}

export interface Order {
  readonly column: string;
  readonly isDescending: boolean;
}

interface VirtualTableProps<T> {
  readonly label: string;
  /** Name of the widths of its columns in the style sheet; those of sandboxes by default. */
  readonly kind?: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly columns: readonly VirtualColumn<T>[];
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

/** Rows in an order; equal ones stay as they are. */
export function sorted<T>(rows: readonly T[], columns: readonly VirtualColumn<T>[], { column, isDescending }: Order): T[] {
  const by = columns.find(({ name }) => name === column)?.by;
  if (!by) return [...rows];
  const sign = isDescending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((a, b) => (a.value < b.value ? -sign : a.value > b.value ? sign : 0))
    .map(({ row }) => row);
}

/** A table of thousands of rows of one height, of which only the visible ones exist in the document. */
export function VirtualTable<T>({ label, kind = "", rows, keyOf, columns, order, onOrder }: VirtualTableProps<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => setView({ top: Math.floor(element.scrollTop / ROW) * ROW, height: element.clientHeight });
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.top / ROW) - MARGIN);
  const last = Math.min(rows.length, Math.ceil((view.top + view.height) / ROW) + MARGIN);
  return (
    // biome-ignore-start lint/a11y: only the visible rows exist, which a table element cannot say
    <div ref={scroller} class={`virtual ${kind}`} role="table" aria-label={label} aria-rowcount={rows.length + 1} tabIndex={0}>
      <div role="rowgroup" class="virtual-head">
        <div role="row" class="virtual-row" aria-rowindex={1}>
          {columns.map((column) => (
            <HeadCell key={column.name} column={column} order={order} onOrder={onOrder} />
          ))}
        </div>
      </div>
      <div role="rowgroup" class="virtual-body" style={{ height: `${rows.length * ROW}px` }}>
        {rows.slice(first, last).map((row, index) => (
          <div
            key={keyOf(row)}
            role="row"
            class="virtual-row"
            aria-rowindex={first + index + 2}
            style={{ transform: `translateY(${(first + index) * ROW}px)` }}
          >
            {columns.map(({ name, cell }) => (
              <div key={name} role="cell" class="virtual-cell">
                {cell(row)}
              </div>
            ))}
          </div>
        ))}
      </div>
    </div>
    // biome-ignore-end lint/a11y: see above
  );
}

interface HeadCellProps<T> {
  readonly column: VirtualColumn<T>;
  readonly order: Order;
  readonly onOrder: (order: Order) => void;
}

function HeadCell<T>({ column: { name, by }, order, onOrder }: HeadCellProps<T>) {
  const isOwn = order.column === name;
  const direction = isOwn ? (order.isDescending ? "descending" : "ascending") : "none";
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the button in it has the focus
    // biome-ignore lint/a11y/useSemanticElements: see above
    <div role="columnheader" class="virtual-cell" aria-sort={by ? direction : undefined}>
      {by ? (
        <button type="button" class="sort" onClick={() => onOrder({ column: name, isDescending: isOwn && !order.isDescending })}>
          {name}
          <span aria-hidden="true">{isOwn ? (order.isDescending ? "↓" : "↑") : ""}</span>
        </button>
      ) : (
        <span class={name === "Actions" ? "hidden" : ""}>{name}</span>
      )}
    </div>
  );
}
