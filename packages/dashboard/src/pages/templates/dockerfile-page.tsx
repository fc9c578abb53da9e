import { useRef, useState } from "preact/hooks";
import { EditorView } from "../../files/editor-view.tsx";
import { templates } from "../../lib/api.ts";
import { ApiError, wordsOf } from "../../lib/api-error.ts";
import { go } from "../../lib/router.ts";
import { Button } from "../../ui/button.tsx";
import { Field } from "../../ui/field.tsx";
import { Link } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";

const START = `FROM boxyard/base

RUN apt-get update && apt-get install -y --no-install-recommends ripgrep
ENV GREETING=hello
WORKDIR /srv
`;

/** A Dockerfile, and the button that builds it. The text stays in the page only. */
export function DockerfilePage() {
  const [text, setText] = useState(START);
  const [name, setName] = useState(new URLSearchParams(location.search).get("name") ?? "");
  const [cpus, setCpus] = useState("2");
  const [memory, setMemory] = useState("1024");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const isBusy = useRef(false);
  const build = async () => {
    // Control and S can be pressed twice, and each would begin a build.
    if (isBusy.current) return;
    isBusy.current = true;
    setProblem(undefined);
    try {
      if (name.trim() === "") throw new Error("The template needs a name.");
      const { orderOfDockerfile } = await import("../../heavy/dockerfile.ts");
      // Before anything is asked for: a mistake in the text leaves no build behind.
      const order = orderOfDockerfile(text);
      const made = await templates.request({ name: name.trim(), cpuCount: Number(cpus), memoryMB: Number(memory) });
      await templates.start(made.templateID, made.buildID, order).catch(async (error: unknown) => {
        // A refused build would wait in the list until its time is over.
        if (error instanceof ApiError) await templates.cancel(made.templateID, made.buildID).catch(() => {});
        throw error;
      });
      go(`/templates/${encodeURIComponent(made.templateID)}/builds/${made.buildID}`);
    } catch (error) {
      setProblem(wordsOf(error));
    } finally {
      isBusy.current = false;
    }
  };
  return (
    <Page
      title="Build from a Dockerfile"
      fill
      subtitle={<Link to="/templates">Templates</Link>}
      actions={
        <Button kind="primary" icon="play" onPress={build}>
          Build
        </Button>
      }
    >
      <div class="filters build">
        <Field label="Name" placeholder="my-template" value={name} onInput={setName} />
        <Field label="CPUs" type="number" min={1} value={cpus} onInput={setCpus} />
        <Field label="Memory in MiB" type="number" min={128} value={memory} onInput={setMemory} />
      </div>
      {problem !== undefined && (
        <div class="banner bad" role="alert">
          {problem}
        </div>
      )}
      <div class="dockerfile">
        <EditorView name="Dockerfile" text={START} onText={setText} onSave={() => void build()} />
      </div>
      <p class="hint">Files of a directory (COPY) need the command line: boxyard template build.</p>
    </Page>
  );
}
