import type { Secret } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { fullTime, shortTime } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { secrets } from "../lib/team-api.ts";
import { Button } from "../ui/button.tsx";
import { Snippet } from "../ui/copy.tsx";
import { FormDialog } from "../ui/dialog.tsx";
import { Field } from "../ui/field.tsx";
import { Card, Page } from "../ui/page.tsx";
import { Empty, Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";
import { told } from "../ui/toasts.tsx";
import { readPairs } from "./sandboxes/pairs.ts";

type Open = { readonly what: "create" } | { readonly what: "update" | "delete"; readonly of: Secret };

export function SecretsPage() {
  const list = useResource("secrets", secrets.list, 10_000);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const dialog = { onClose: () => setOpen(undefined), onDone: () => list.reload() };
  return (
    <Page
      title="Secrets"
      subtitle="Passwords and keys for sandboxes and builds. The server keeps them sealed, and shows none of them again."
      actions={
        <Button kind="primary" icon="plus" onPress={() => setOpen({ what: "create" })}>
          Store a secret
        </Button>
      }
    >
      <Loaded from={list}>
        {(all) =>
          all.length === 0 ? (
            <Empty icon="secret" title="No secret is here" command="./boxyard secret create my-token < my-token.txt">
              <p>
                Press Store a secret, or use a terminal. The command reads the value from a file, so that no other user of the machine sees
                it:
              </p>
            </Empty>
          ) : (
            <>
              <SecretTable rows={all} onOpen={setOpen} />
              <Use of={all[0] as Secret} />
            </>
          )
        }
      </Loaded>
      {open?.what === "create" && <NewSecretDialog {...dialog} />}
      {open?.what === "update" && <NewValueDialog of={open.of} {...dialog} />}
      {open?.what === "delete" && (
        <FormDialog
          title={`Delete ${open.of.name}?`}
          action="Delete it"
          danger
          onClose={dialog.onClose}
          onSubmit={async () => {
            await secrets.remove(open.of.secretID);
            told(`${open.of.name} is deleted.`);
            await dialog.onDone();
          }}
        >
          <p>Its value is gone for good. Sandboxes that have it in their environment keep it; new ones that name it are refused.</p>
        </FormDialog>
      )}
    </Page>
  );
}

function SecretTable({ rows, onOpen }: { rows: readonly Secret[]; onOpen: (open: Open) => void }) {
  return (
    <Table
      label="Secrets"
      rows={rows}
      keyOf={({ secretID }) => secretID}
      columns={[
        { name: "Name", cell: ({ name }) => <span class="mono strong">{name}</span> },
        { name: "Value", cell: () => <span class="muted">stored, never shown</span>, wideOnly: true },
        { name: "Version", cell: ({ currentVersion }) => currentVersion, isNumber: true },
        {
          name: "Metadata",
          cell: ({ metadata }) => (
            <span class="chips">
              {Object.entries(metadata).map(([key, value]) => (
                <span key={key} class="chip">{`${key}=${value}`}</span>
              ))}
            </span>
          ),
          wideOnly: true,
        },
        {
          name: "Last change",
          cell: ({ updatedAt }) => <span title={fullTime(updatedAt)}>{shortTime(updatedAt)}</span>,
          wideOnly: true,
        },
        {
          name: "",
          cell: (of) => (
            <span class="row-actions">
              <Button kind="quiet" onPress={() => onOpen({ what: "update", of })}>
                New value
              </Button>
              <Button kind="quiet" onPress={() => onOpen({ what: "delete", of })}>
                Delete
              </Button>
            </span>
          ),
        },
      ]}
    />
  );
}

/** How a secret gets to where it is needed. */
function Use({ of: { name } }: { of: Secret }) {
  return (
    <Card title="Use a secret">
      <div class="steps">
        <div>
          <h3>In the environment of a sandbox</h3>
          <Snippet
            label="command for a sandbox"
            text={`./boxyard run --env-secret TOKEN=${name} -- sh -c 'test -n "$TOKEN" && echo it is there'`}
          />
        </div>
        <div>
          <h3>In a build, for one command of the Dockerfile</h3>
          <Snippet label="command for a build" text={`./boxyard template build . --secret id=token,stored=${name}`} />
        </div>
      </div>
    </Card>
  );
}

interface DialogProps {
  readonly onClose: () => void;
  readonly onDone: () => Promise<void>;
}

const VALUE_HINT = "At most 64 KiB. Keep it elsewhere too if you need to read it again";

function NewSecretDialog({ onClose, onDone }: DialogProps) {
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const [metadata, setMetadata] = useState("");
  const create = async () => {
    await secrets.create({ name: name.trim(), value, ...(metadata.trim() !== "" && { metadata: readPairs(metadata, "Metadata") }) });
    told(`${name.trim()} is stored.`);
    await onDone();
  };
  return (
    <FormDialog title="Store a secret" action="Store" disabled={name.trim() === "" || value === ""} onSubmit={create} onClose={onClose}>
      <Field label="Name" placeholder="my-token" hint="Letters, digits, - and _" value={name} onInput={setName} autoFocus mono />
      <Field label="Value" rows={3} hint={VALUE_HINT} value={value} onInput={setValue} mono />
      <Field
        label="Metadata"
        rows={2}
        placeholder="owner=ada"
        hint="KEY=VALUE, one per line. It is not secret"
        value={metadata}
        onInput={setMetadata}
        mono
      />
    </FormDialog>
  );
}

function NewValueDialog({ of, onClose, onDone }: DialogProps & { of: Secret }) {
  const [value, setValue] = useState("");
  const update = async () => {
    const { currentVersion } = await secrets.update(of.secretID, { value });
    told(`${of.name} has version ${currentVersion}.`);
    await onDone();
  };
  return (
    <FormDialog title={`New value of ${of.name}`} action="Replace" disabled={value === ""} onSubmit={update} onClose={onClose}>
      <p>Requests of running sandboxes that the server puts it into get the new value within seconds. Environments keep the old one.</p>
      <Field label="Value" rows={3} hint={VALUE_HINT} value={value} onInput={setValue} mono />
    </FormDialog>
  );
}
