import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { sandbox } from "../../lib/api.ts";
import { wordsOf } from "../../lib/api-error.ts";
import { type NetworkForm, networkForm, networkUpdate, type Preset, problemOf, whyNotHere } from "../../lib/network-update.ts";
import { Button } from "../../ui/button.tsx";
import { Choice, Field } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { told } from "../../ui/toasts.tsx";

const PRESETS: readonly (readonly [Preset, string])[] = [
  ["all", "Everything but what is denied"],
  ["packages", "The package registries, and what is allowed"],
  ["none", "Only what is allowed"],
];

interface PolicyProps {
  readonly detail: SandboxDetail;
  readonly onChanged: () => Promise<void>;
}

/** What may leave the sandbox: a preset, and lists on top of it. */
export function NetworkPolicy({ detail, onChanged }: PolicyProps) {
  const { sandboxID: id, state } = detail;
  const [form, setForm] = useState(() => networkForm(detail));
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const closed = whyNotHere(detail);
  const change = (part: Partial<NetworkForm>) => {
    setForm({ ...form, ...part });
    setProblem(undefined);
  };
  const apply = async () => {
    const wrong = problemOf(form);
    setProblem(wrong);
    if (wrong !== undefined) return;
    try {
      // As it is now: another client may have changed what this form does not show.
      const current = await sandbox.get(id);
      if (whyNotHere(current)) return await onChanged();
      await sandbox.network(id, networkUpdate(current, form));
      told("The new rules hold, for open connections too.");
      await onChanged();
    } catch (error) {
      setProblem(wordsOf(error));
    }
  };
  const suggest = async () => {
    const { allowOut } = await sandbox.suggestNetwork(id);
    if (allowOut.length === 0) return told("It has not tried to reach anything yet.");
    change({ preset: "none", allowed: allowOut.join("\n"), denied: "" });
    told("The form has what it tried so far. Nothing changes before you press Apply.");
  };
  return (
    <Card
      title="What it may reach"
      actions={
        <span class="row-actions">
          <Button kind="quiet" disabled={closed !== undefined} title="Fill the form with what it has tried so far" onPress={suggest}>
            Suggest
          </Button>
          <Button kind="primary" disabled={state !== "running" || closed !== undefined} onPress={apply}>
            Apply
          </Button>
        </span>
      }
    >
      {closed !== undefined && <p>{closed}</p>}
      {state !== "running" && <p class="muted">Resume the sandbox to change the rules.</p>}
      <Choice
        label="Outside"
        value={form.preset}
        onChange={(value) => change({ preset: PRESETS.find(([name]) => name === value)?.[0] ?? "all" })}
        options={PRESETS}
      />
      <Field
        label="Allowed"
        rows={5}
        mono
        placeholder={"api.example.com\n*.example.org\n203.0.113.0/24"}
        hint="An address, a network or a domain in a line; each is used before what is denied"
        value={form.allowed}
        onInput={(allowed) => change({ allowed })}
      />
      <Field
        label="Denied"
        rows={3}
        mono
        placeholder="203.0.113.7"
        hint="An address or a network in a line. Private networks are closed to every sandbox"
        value={form.denied}
        onInput={(denied) => change({ denied })}
      />
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </Card>
  );
}
