import { useState } from "preact/hooks";
import { templates } from "../../lib/api.ts";
import { megabytes, shortTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Badge, Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";
import { BuildDialog } from "./build-dialog.tsx";
import { DockerfilePage } from "./dockerfile-page.tsx";

export function TemplatesPage() {
  const list = useResource("templates", templates.list, 5000);
  const [isBuilding, setBuilding] = useState(false);
  if (location.search.startsWith("?dockerfile")) return <DockerfilePage />;
  return (
    <Page
      title="Templates"
      subtitle="What sandboxes start from: a file system and settings."
      actions={
        <>
          <Button icon="file" onPress={() => go("/templates?dockerfile")}>
            Write a Dockerfile
          </Button>
          <Button kind="primary" icon="plus" onPress={() => setBuilding(true)}>
            Build a template
          </Button>
        </>
      }
    >
      <Loaded from={list}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="template" title="No template is here" command="./boxyard template build .">
              <p>Build one here, or from a Dockerfile in a terminal:</p>
            </Empty>
          ) : (
            <Table
              label="Templates"
              rows={all}
              keyOf={({ templateID }) => templateID}
              columns={[
                {
                  name: "Name",
                  cell: ({ templateID, names }) => (
                    <Link to={`/templates/${encodeURIComponent(templateID)}`} class="strong">
                      {names[0] ?? templateID}
                    </Link>
                  ),
                },
                { name: "Last build", cell: ({ buildStatus }) => <Badge state={buildStatus} /> },
                { name: "Size", cell: ({ cpuCount, memoryMB }) => `${cpuCount} CPU · ${megabytes(memoryMB)}`, wideOnly: true },
                { name: "Sandboxes so far", cell: ({ spawnCount }) => spawnCount.toLocaleString(), isNumber: true, wideOnly: true },
                { name: "Updated", cell: ({ updatedAt }) => shortTime(updatedAt), isNumber: true, wideOnly: true },
              ]}
            />
          )
        }
      </Loaded>
      {isBuilding && <BuildDialog onClose={() => setBuilding(false)} />}
    </Page>
  );
}
