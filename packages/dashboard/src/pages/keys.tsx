import type { TeamAPIKey } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { keys } from "../lib/api.ts";
import { shortTime } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Button } from "../ui/button.tsx";
import { Snippet } from "../ui/copy.tsx";
import { Dialog, FormDialog } from "../ui/dialog.tsx";
import { Checkbox, Choice, Field } from "../ui/field.tsx";
import { Page } from "../ui/page.tsx";
import { Loaded } from "../ui/state.tsx";
import { Table } from "../ui/table.tsx";
import { told } from "../ui/toasts.tsx";

type Open =
  | { readonly what: "create" }
  | { readonly what: "shown"; readonly key: string }
  | { readonly what: "rename" | "revoke"; readonly of: TeamAPIKey };

/** `own`: the key with which the person has signed in. */
export function KeysPage({ own }: { own: string }) {
  const list = useResource("keys", keys.list, 10_000);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const close = () => setOpen(undefined);
  return (
    <Page
      title="API keys"
      subtitle="Programs and people use the server with a key."
      actions={
        <Button kind="primary" icon="plus" onPress={() => setOpen({ what: "create" })}>
          Create a key
        </Button>
      }
    >
      <Loaded from={list}>
        {(all) => (
          <Table
            label="API keys"
            rows={all}
            keyOf={({ id }) => id}
            columns={[
              { name: "Name", cell: ({ name, id }) => <span class="strong">{id === own ? `${name} (this session)` : name}</span> },
              {
                name: "Key",
                cell: ({ mask }) => <span class="mono">{`${mask.prefix}${mask.maskedValuePrefix}…${mask.maskedValueSuffix}`}</span>,
              },
              {
                name: "May",
                cell: ({ scopes }) => <span class="muted">{scopes.length === SCOPES.length ? "everything" : scopes.join(", ")}</span>,
                wideOnly: true,
              },
              { name: "Expires", cell: ({ expiresAt }) => (expiresAt ? shortTime(expiresAt) : "never"), wideOnly: true },
              { name: "Created", cell: ({ createdAt }) => shortTime(createdAt), wideOnly: true },
              { name: "Last used", cell: ({ lastUsed }) => (lastUsed ? shortTime(lastUsed) : "never"), wideOnly: true },
              {
                name: "",
                cell: (key) => (
                  <span class="row-actions">
                    <Button kind="quiet" onPress={() => setOpen({ what: "rename", of: key })}>
                      Rename
                    </Button>
                    <Button kind="quiet" onPress={() => setOpen({ what: "revoke", of: key })}>
                      Revoke
                    </Button>
                  </span>
                ),
              },
            ]}
          />
        )}
      </Loaded>
      {open?.what === "create" && (
        <NewKeyDialog
          onClose={() => setOpen((now) => (now?.what === "create" ? undefined : now))}
          onMade={async (key) => {
            await list.reload();
            setOpen({ what: "shown", key });
          }}
        />
      )}
      {open?.what === "shown" && (
        <Dialog title="The new key" onClose={close}>
          <div class="dialog-body">
            <p>It is shown this one time. Copy it to where it is needed; here it cannot be looked up again.</p>
            <Snippet label="key" text={open.key} />
          </div>
        </Dialog>
      )}
      {open?.what === "rename" && (
        <NameDialog
          title={`Rename ${open.of.name}`}
          action="Rename"
          start={open.of.name}
          onClose={close}
          onName={async (name) => {
            await keys.rename(open.of.id, name);
            await list.reload();
          }}
        />
      )}
      {open?.what === "revoke" && (
        <FormDialog
          title={`Revoke ${open.of.name}?`}
          action="Revoke it"
          danger
          onClose={close}
          onSubmit={async () => {
            await keys.revoke(open.of.id);
            told(`The server refuses ${open.of.name} from now on.`);
            await list.reload();
          }}
        >
          <p>
            Programs that use it are refused at once. Their sandboxes run on.
            {open.of.id === own && " You are signed in with it: this session ends."}
          </p>
        </FormDialog>
      )}
    </Page>
  );
}

const SCOPES = [
  ["read", "Read: look at everything of the team"],
  ["sandboxes", "Sandboxes: create, use and end them"],
  ["templates", "Templates: build and change them"],
  ["admin", "Admin: make and revoke keys"],
] as const;
type Scope = (typeof SCOPES)[number][0];

const LIFETIMES = [
  ["0", "Never"],
  ["1", "In a day"],
  ["30", "In 30 days"],
  ["365", "In a year"],
] as const;
const DAY_MS = 86_400_000;

function NewKeyDialog({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => Promise<void> }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(SCOPES.map(([scope]) => scope));
  const [days, setDays] = useState<string>("0");
  const create = async () => {
    const expiresAt = days === "0" ? {} : { expiresAt: new Date(Date.now() + Number(days) * DAY_MS).toISOString() };
    const made = await keys.create({ name: name.trim(), scopes, ...expiresAt });
    await onMade(made.key);
  };
  const set = (scope: Scope, isOn: boolean) => setScopes(isOn ? [...scopes, scope] : scopes.filter((other) => other !== scope));
  return (
    <FormDialog
      title="Create an API key"
      action="Create"
      disabled={name.trim() === "" || scopes.length === 0}
      onSubmit={create}
      onClose={onClose}
    >
      <Field label="Name" placeholder="ci" hint="For you, to know it again" value={name} onInput={setName} autoFocus />
      <fieldset class="choices">
        <legend>What it may do</legend>
        {SCOPES.map(([scope, text]) => (
          <Checkbox key={scope} label={text} checked={scopes.includes(scope)} onChange={(isOn) => set(scope, isOn)} />
        ))}
      </fieldset>
      <Choice label="Expires" value={days} onChange={setDays} options={LIFETIMES} />
    </FormDialog>
  );
}

interface NameDialogProps {
  readonly title: string;
  readonly action: string;
  readonly start: string;
  readonly onName: (name: string) => Promise<void>;
  readonly onClose: () => void;
}

function NameDialog({ title, action, start, onName, onClose }: NameDialogProps) {
  const [name, setName] = useState(start);
  return (
    <FormDialog title={title} action={action} disabled={name.trim() === ""} onSubmit={() => onName(name.trim())} onClose={onClose}>
      <Field label="Name" placeholder="ci" hint="For you, to know it again" value={name} onInput={setName} autoFocus />
    </FormDialog>
  );
}
