import type { TemplateTag, TemplateWithBuilds } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { listSandboxes, templates } from "../../lib/api.ts";
import { counted, megabytes, shortTime } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Card, Facts, Page } from "../../ui/page.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";
import { told } from "../../ui/toasts.tsx";
import { CreateDialog } from "../sandboxes/create-dialog.tsx";
import { BuildDialog } from "./build-dialog.tsx";
import { Layers } from "./layers.tsx";

/** Sandboxes that the page of a template names; the list of sandboxes has all. */
const MOST_USERS = 20;

export function TemplatePage({ id }: { id: string }) {
  const template = useResource(`template ${id}`, (signal) => templates.get(id, signal), 5000);
  const tags = useResource(`tags ${id}`, (signal) => templates.tags(id, signal), 10_000);
  const [open, setOpen] = useState<"create" | "build" | "delete" | "tag" | undefined>(undefined);
  const close = () => setOpen(undefined);
  const name = template.data?.names[0] ?? id;
  return (
    <Page
      title={name}
      subtitle={<Link to="/templates">Templates</Link>}
      actions={
        <>
          <Button kind="primary" icon="play" onPress={() => setOpen("create")}>
            Start a sandbox
          </Button>
          <Button icon="file" onPress={() => go(`/templates?dockerfile&name=${encodeURIComponent(name)}`)}>
            Write a Dockerfile
          </Button>
          <Button icon="refresh" onPress={() => setOpen("build")}>
            Build again
          </Button>
          <Button kind="danger" icon="trash" onPress={() => setOpen("delete")}>
            Delete
          </Button>
        </>
      }
    >
      <Loaded from={template}>
        {(data) => (
          <div class="stack">
            <Builds template={data} />
            <div class="pair">
              <About template={data} />
              <Users template={data} />
              <Layers id={id} />
              <Tags name={name} tags={tags.data ?? []} onAdd={() => setOpen("tag")} onChanged={tags.reload} />
            </div>
          </div>
        )}
      </Loaded>
      {open === "create" && <CreateDialog from={name} onClose={close} />}
      {open === "build" && <BuildDialog name={name} onClose={close} />}
      {open === "tag" && <TagDialog name={name} onClose={close} onDone={tags.reload} />}
      {open === "delete" && (
        <FormDialog
          title={`Delete ${name}?`}
          action="Delete it"
          danger
          onClose={close}
          onSubmit={async () => {
            await templates.remove(id);
            told(`${name} is deleted.`);
            go("/templates");
          }}
        >
          <p>
            No sandbox can start from <strong>{name}</strong> any more. It cannot be deleted while a sandbox of it runs or is paused.
          </p>
        </FormDialog>
      )}
    </Page>
  );
}

function About({ template }: { template: TemplateWithBuilds }) {
  const { templateID, cpuCount, memoryMB, diskSizeMB, spawnCount, createdAt, lastSpawnedAt, envdVersion } = template;
  return (
    <Card title="Facts">
      <Facts
        facts={[
          ["Id", <span class="mono">{templateID}</span>],
          ["Limits", `${cpuCount} CPU, ${megabytes(memoryMB)} of memory, ${megabytes(diskSizeMB)} of disk`],
          ["Sandboxes so far", spawnCount.toLocaleString()],
          ["Last one", lastSpawnedAt ? shortTime(lastSpawnedAt) : "none yet"],
          ["Created", shortTime(createdAt)],
          ["Agent", envdVersion],
        ]}
      />
    </Card>
  );
}

/** Sandboxes that were made from it, and live. It cannot be deleted before they end. */
function Users({ template: { templateID } }: { template: TemplateWithBuilds }) {
  const sandboxes = useResource("sandboxes", listSandboxes, 5000);
  const users = (sandboxes.data ?? []).filter((one) => one.templateID === templateID);
  return (
    <Card title={`Used by ${counted(users.length, "sandbox", "sandboxes")}`}>
      {users.length === 0 ? (
        <p class="muted">No sandbox of it runs or is paused.</p>
      ) : (
        <ul class="tag-list" aria-label="Sandboxes of it">
          {users.slice(0, MOST_USERS).map(({ sandboxID, name, state }) => (
            <li key={sandboxID}>
              <Link to={`/sandboxes/${sandboxID}`} class={name === undefined ? "mono" : ""}>
                {name ?? sandboxID}
              </Link>
              <Badge state={state} />
            </li>
          ))}
          {users.length > MOST_USERS && <li class="muted">{`${(users.length - MOST_USERS).toLocaleString()} more`}</li>}
        </ul>
      )}
    </Card>
  );
}

function Builds({ template: { templateID, builds } }: { template: TemplateWithBuilds }) {
  return (
    <Card title="Builds">
      {builds.length === 0 ? (
        <p class="muted">It was not built on this server.</p>
      ) : (
        <Table
          label="Builds"
          rows={builds}
          keyOf={({ buildID }) => buildID}
          columns={[
            {
              name: "Build",
              cell: ({ buildID }) => (
                <Link to={`/templates/${encodeURIComponent(templateID)}/builds/${buildID}`} class="mono">
                  {buildID}
                </Link>
              ),
            },
            { name: "Status", cell: ({ status }) => <Badge state={status} /> },
            { name: "Begun", cell: ({ createdAt }) => shortTime(createdAt), isNumber: true, wideOnly: true },
            { name: "Ended", cell: ({ finishedAt }) => (finishedAt ? shortTime(finishedAt) : ""), isNumber: true, wideOnly: true },
            { name: "Deleted by a rule", cell: ({ deleteAt }) => (deleteAt ? shortTime(deleteAt) : ""), isNumber: true, wideOnly: true },
          ]}
        />
      )}
    </Card>
  );
}

interface TagsProps {
  readonly name: string;
  readonly tags: readonly TemplateTag[];
  readonly onAdd: () => void;
  readonly onChanged: () => Promise<void>;
}

function Tags({ name, tags, onAdd, onChanged }: TagsProps) {
  const remove = async (tag: string) => {
    await templates.removeTags(name, [tag]);
    await onChanged();
  };
  return (
    <Card
      title="Tags"
      actions={
        <Button kind="quiet" icon="plus" onPress={onAdd}>
          Add
        </Button>
      }
    >
      <ul class="tag-list">
        {tags.map(({ tag, buildID }) => (
          <li key={tag}>
            <span class="chip">{tag}</span>
            <span class="mono muted">{buildID}</span>
            <IconButton icon="close" label={`Remove the tag ${tag}`} onPress={() => remove(tag)} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

interface TagDialogProps {
  readonly name: string;
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

function TagDialog({ name, onClose, onDone }: TagDialogProps) {
  const [tag, setTag] = useState("");
  const add = async () => {
    await templates.addTags(name, [tag.trim()]);
    await onDone();
  };
  return (
    <FormDialog title={`Tag ${name}`} action="Add" disabled={tag.trim() === ""} onSubmit={add} onClose={onClose}>
      <Field
        label="Tag"
        placeholder="v1"
        hint={`Names the newest build: sandboxes start from it as ${name}:${tag || "v1"}`}
        value={tag}
        onInput={setTag}
        autoFocus
      />
    </FormDialog>
  );
}
