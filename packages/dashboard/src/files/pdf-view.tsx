import { useEffect, useRef, useState } from "preact/hooks";
import { wordsOf } from "../lib/api-error.ts";
import { PdfDocument } from "../lib/pdf-document.ts";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/state.tsx";

const LEAST_WIDTH = 200;
const MOST_WIDTH = 1000;

/** The pages of a PDF, one at a time, as pictures. Nothing in the file can be pressed or runs. */
export function PdfView({ name, data }: { name: string; data: ArrayBuffer }) {
  const [file, setFile] = useState<PdfDocument | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [page, setPage] = useState(1);
  const [text, setText] = useState("");
  const canvas = useRef<HTMLCanvasElement>(null);
  const space = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let opened: PdfDocument | undefined;
    let isOver = false;
    // The worker gets a copy, for the file may be shown again.
    PdfDocument.open(data.slice(0))
      .then((one) => {
        opened = one;
        if (isOver) one.close();
        else setFile(one);
      })
      .catch((error: unknown) => !isOver && setProblem(wordsOf(error)));
    return () => {
      isOver = true;
      opened?.close();
    };
  }, [data]);
  useEffect(() => {
    if (!file) return undefined;
    let isOver = false;
    const width = Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, (space.current?.clientWidth ?? MOST_WIDTH) - 32));
    file
      .draw(page, Math.round(width * Math.min(devicePixelRatio, 2)))
      .then(({ bitmap, text: words }) => {
        if (isOver || !canvas.current) return bitmap.close();
        canvas.current.width = bitmap.width;
        canvas.current.height = bitmap.height;
        canvas.current.getContext("bitmaprenderer")?.transferFromImageBitmap(bitmap);
        canvas.current.dataset.page = String(page);
        setText(words);
      })
      .catch((error: unknown) => !isOver && setProblem(wordsOf(error)));
    return () => {
      isOver = true;
    };
  }, [file, page]);
  if (problem !== undefined) {
    return (
      <Empty icon="file" title="The PDF is not shown">
        <p>{problem}</p>
      </Empty>
    );
  }
  return (
    <div class="pdf">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard must be able to scroll it */}
      <section ref={space} class="pdf-scroll" tabIndex={0} aria-label={`Pages of ${name}`}>
        {file === undefined && <div class="skeleton" aria-busy="true" />}
        <canvas ref={canvas} class={file === undefined ? "away" : ""} role="img" aria-label={`Page ${page} of ${name}`} />
        <p class="hidden">{text}</p>
      </section>
      <div class="view-foot">
        <span role="status">{file === undefined ? "Reading…" : `Page ${page} of ${file.pages.toLocaleString()}`}</span>
        <Button kind="quiet" disabled={page <= 1} onPress={() => setPage(page - 1)}>
          Previous
        </Button>
        <Button kind="quiet" disabled={file === undefined || page >= file.pages} onPress={() => setPage(page + 1)}>
          Next
        </Button>
      </div>
    </div>
  );
}
