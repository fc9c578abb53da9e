import type { TemplateLayers } from "@boxyard/spec/platform-types";
import { templates } from "../../lib/api.ts";
import { bytes, counted, shortTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { Card } from "../../ui/page.tsx";
import { Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";

type Layer = TemplateLayers["layers"][number];

/** What the template is made of. */
export function Layers({ id }: { id: string }) {
  const known = useResource(`layers ${id}`, (signal) => templates.layers(id, signal), 20_000);
  const total = (known.data?.layers ?? []).reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0);
  return (
    <Card title={total === 0 ? "Layers" : `Layers, ${bytes(total)} together`}>
      <Loaded from={known}>
        {({ layers }) =>
          layers.length === 0 ? (
            <p class="muted">No build of it is ready.</p>
          ) : (
            <Table<Layer>
              label="Layers, the lowest first"
              rows={layers}
              keyOf={({ digest }) => digest}
              columns={[
                {
                  name: "Layer",
                  cell: ({ digest }) => (
                    <span class="mono" title={digest}>
                      {digest.replace("sha256:", "").slice(0, 12)}
                    </span>
                  ),
                },
                { name: "Size", cell: ({ sizeBytes }) => (sizeBytes === undefined ? "not here" : bytes(sizeBytes)), isNumber: true },
                { name: "Made", cell: ({ createdAt }) => (createdAt ? shortTime(createdAt) : ""), isNumber: true, wideOnly: true },
                {
                  name: "Also in",
                  cell: ({ templates: others }) => (others.length === 0 ? "" : counted(others.length, "template")),
                  isNumber: true,
                },
              ]}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
