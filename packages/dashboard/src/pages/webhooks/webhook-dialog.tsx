import type { CreatedWebhook, Webhook } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { webhooks } from "../../lib/team-api.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";

interface DialogProps {
  /** The webhook to change; without it a new one is made. */
  readonly of?: Webhook;
  readonly onClose: () => void;
  readonly onMade?: (webhook: CreatedWebhook) => Promise<void>;
  readonly onChanged?: () => Promise<void>;
}

/** Words between spaces or commas. */
const wordsIn = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

export function WebhookDialog({ of, onClose, onMade, onChanged }: DialogProps) {
  const [name, setName] = useState(of?.name ?? "");
  const [url, setUrl] = useState(of?.url ?? "https://");
  const [events, setEvents] = useState(of?.events.join(" ") ?? "*");
  const wish = { name: name.trim(), url: url.trim(), events: wordsIn(events) };
  const save = async () => {
    if (of) {
      await webhooks.update(of.id, wish);
      await onChanged?.();
    } else await onMade?.(await webhooks.create(wish));
  };
  return (
    <FormDialog
      title={of ? `Change ${of.name}` : "Create a webhook"}
      action={of ? "Save" : "Create"}
      disabled={wish.name === "" || wish.events.length === 0}
      onSubmit={save}
      onClose={onClose}
    >
      <Field label="Name" placeholder="ci" value={name} onInput={setName} autoFocus />
      <Field
        label="Address"
        hint="https://… of a public host; the operator can allow others (BOXYARD_WEBHOOK_HOSTS)"
        value={url}
        onInput={setUrl}
        mono
      />
      <Field
        label="Events"
        rows={2}
        hint="* for all; else kinds (build), actions (build.ready) or types (sandbox.lifecycle.killed), with spaces between"
        value={events}
        onInput={setEvents}
        mono
      />
    </FormDialog>
  );
}
