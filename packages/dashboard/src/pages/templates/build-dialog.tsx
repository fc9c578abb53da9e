import { useState } from "preact/hooks";
import { templates } from "../../lib/api.ts";
import { go } from "../../lib/router.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { Choice, Field } from "../../ui/field.tsx";
import { orderOf, type Wish } from "./build-order.ts";

interface BuildDialogProps {
  readonly onClose: () => void;
  /** Name of a template that gets another build. */
  readonly name?: string;
}

export function BuildDialog({ onClose, name: given }: BuildDialogProps) {
  const [name, setName] = useState(given ?? "");
  const [from, setFrom] = useState<Wish["from"]>("template");
  const [base, setBase] = useState("base");
  const [commands, setCommands] = useState("");
  const [start, setStart] = useState("");
  const [memory, setMemory] = useState("512");
  const [cpus, setCpus] = useState("2");
  const build = async () => {
    const made = await templates.request({ name: name.trim(), cpuCount: Number(cpus), memoryMB: Number(memory) });
    await templates.start(made.templateID, made.buildID, orderOf({ from, base: base.trim(), commands, start }));
    go(`/templates/${encodeURIComponent(made.templateID)}/builds/${made.buildID}`);
  };
  return (
    <FormDialog
      title={given ? `Build ${given} again` : "Build a template"}
      action="Build"
      disabled={name.trim() === ""}
      onSubmit={build}
      onClose={onClose}
    >
      {given === undefined && <Field label="Name" placeholder="my-template" value={name} onInput={setName} autoFocus />}
      <div class="pair tight">
        <Choice
          label="From"
          value={from}
          onChange={(value) => setFrom(value === "image" ? "image" : "template")}
          options={[
            ["template", "a template"],
            ["image", "an image of a registry"],
          ]}
        />
        <Field
          label={from === "template" ? "Template" : "Image"}
          placeholder={from === "template" ? "base" : "debian:13"}
          value={base}
          onInput={setBase}
        />
      </div>
      <Field
        label="Commands"
        rows={6}
        mono
        placeholder={"apt-get update && apt-get install -y ripgrep\npip install requests"}
        hint="One in a line, run as root. Each becomes a layer, and is not run again while nothing before it changes. For COPY and stages use a Dockerfile and `boxyard template build`."
        value={commands}
        onInput={setCommands}
      />
      <details>
        <summary>More</summary>
        <Field
          label="Start command"
          mono
          placeholder="python3 -m http.server 8000"
          hint="Runs in every sandbox from its beginning"
          value={start}
          onInput={setStart}
        />
        <div class="pair tight">
          <Field label="CPUs" type="number" min={1} value={cpus} onInput={setCpus} />
          <Field label="Memory in MiB" type="number" min={128} value={memory} onInput={setMemory} />
        </div>
      </details>
    </FormDialog>
  );
}
