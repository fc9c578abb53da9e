import type { ListedSandbox } from "@boxyard/spec/platform-types";
import { useMemo, useState } from "preact/hooks";
import { listSandboxes } from "../../lib/api.ts";
import { counted } from "../../lib/format.ts";
import { useNow } from "../../lib/now.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { Choice, Field } from "../../ui/field.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { type Order, sorted, VirtualTable } from "../../ui/virtual-table.tsx";
import { columnsOf } from "./columns.tsx";
import { CreateDialog } from "./create-dialog.tsx";

interface Filter {
  readonly text: string;
  readonly state: string;
  readonly template: string;
}

const ALL = "";

export function SandboxesPage() {
  const sandboxes = useResource("sandboxes", listSandboxes, 3000);
  const isCreating = location.search === "?new";
  return (
    <Page
      title="Sandboxes"
      fill
      subtitle={sandboxes.data && counted(sandboxes.data.length, "sandbox", "sandboxes")}
      actions={
        <Button kind="primary" icon="plus" onPress={() => go("/sandboxes?new")}>
          Create
        </Button>
      }
    >
      <Loaded from={sandboxes}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="box" title="No sandbox is here" command="./boxyard sandbox create">
              <p>
                A sandbox is an isolated Linux machine that starts in milliseconds. Create one here, from a program, or from a terminal:
              </p>
            </Empty>
          ) : (
            <List list={list} />
          )
        }
      </Loaded>
      {isCreating && <CreateDialog onClose={() => location.search === "?new" && go("/sandboxes", { replace: true })} />}
    </Page>
  );
}

function List({ list }: { list: readonly ListedSandbox[] }) {
  const [filter, setFilter] = useState<Filter>({ text: "", state: ALL, template: ALL });
  const [order, setOrder] = useState<Order>({ column: "Started", isDescending: true });
  const now = useNow(5000);
  const columns = useMemo(() => columnsOf(now), [now]);
  const names = useMemo(() => [...new Set(list.map(nameOf))].sort(), [list]);
  const rows = useMemo(() => sorted(list.filter(matching(filter)), columns, order), [list, filter, order, columns]);
  return (
    <>
      <div class="filters">
        <Field
          label="Search"
          type="search"
          placeholder="Name, id, template, or key=value"
          value={filter.text}
          onInput={(text) => setFilter({ ...filter, text })}
        />
        <Choice
          label="State"
          value={filter.state}
          onChange={(state) => setFilter({ ...filter, state })}
          options={[
            [ALL, "All states"],
            ["running", "Running"],
            ["paused", "Paused"],
          ]}
        />
        <Choice
          label="Template"
          value={filter.template}
          onChange={(template) => setFilter({ ...filter, template })}
          options={[[ALL, "All templates"], ...names.map((name) => [name, name] as const)]}
        />
        <p class="filter-count" role="status">
          {rows.length === list.length ? "" : `${rows.length.toLocaleString()} of ${list.length.toLocaleString()}`}
        </p>
      </div>
      <VirtualTable label="Sandboxes" rows={rows} keyOf={({ sandboxID }) => sandboxID} columns={columns} order={order} onOrder={setOrder} />
    </>
  );
}

export const nameOf = ({ alias, templateID }: ListedSandbox): string => alias ?? templateID;

/** Every word has to be in the name, in the id, in the template's name, or in a `key=value` of the metadata. */
function matching({ text, state, template }: Filter): (sandbox: ListedSandbox) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return (sandbox) => {
    if (state !== ALL && sandbox.state !== state) return false;
    if (template !== ALL && nameOf(sandbox) !== template) return false;
    if (words.length === 0) return true;
    const pairs = Object.entries(sandbox.metadata ?? {}).map(([key, value]) => `${key}=${value}`);
    const all = [sandbox.name ?? "", sandbox.sandboxID, nameOf(sandbox), ...pairs].join("\n").toLowerCase();
    return words.every((word) => all.includes(word));
  };
}
