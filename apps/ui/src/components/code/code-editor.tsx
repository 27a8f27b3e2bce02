import { type Diagnostic, setDiagnostics } from '@codemirror/lint';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { type CodeUse, openCode } from './code-view.js';
import styles from './code-editor.module.css';

/** CodeProblem is a mistake at a place of a text. */
export interface CodeProblem {
  /** The first and the last offset of the place, in characters. */
  readonly start: number;
  readonly end: number;
  readonly message: string;
}

interface CodeEditorProps extends CodeUse {
  readonly value: string;
  /** The mistake to mark; the cursor goes there. */
  readonly problem?: CodeProblem | undefined;
  /** How much room the text has: as many lines as it has, or a part of the screen. */
  readonly height?: 'whole' | 'screen' | 'few';
}

/** Code with colours and line numbers, to be read, or with `onChange` to be written. */
export function CodeEditor({ value, problem, height = 'whole', ...use }: CodeEditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const first = useRef(value);
  const latest = useRef<CodeUse>(use);
  useEffect(() => {
    latest.current = use;
  });
  const isWritten = use.onChange !== undefined;
  const { label } = use;
  useEffect(() => {
    if (!place.current) return undefined;
    const opened = openCode(place.current, first.current, {
      label,
      onChange: isWritten ? (text) => latest.current.onChange?.(text) : undefined,
      onSubmit: () => latest.current.onSubmit?.(),
    });
    view.current = opened;
    return () => {
      first.current = opened.state.doc.toString();
      opened.destroy();
    };
  }, [label, isWritten]);
  useEffect(() => replaceText(view.current, value), [value]);
  useEffect(() => mark(view.current, problem), [problem]);
  return <div ref={place} className={`${styles['place']} ${styles[height]}`} />;
}

function replaceText(view: EditorView | undefined, text: string): void {
  if (!view || view.state.doc.toString() === text) return;
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

/** Marks a mistake in the text and at its line, and goes there. Without a mistake the marks go. */
function mark(view: EditorView | undefined, problem: CodeProblem | undefined): void {
  if (!view) return;
  const most = view.state.doc.length;
  const found: readonly Diagnostic[] =
    problem === undefined
      ? []
      : [
          {
            from: Math.min(problem.start, most),
            to: Math.min(problem.end, most),
            severity: 'error',
            message: problem.message,
          },
        ];
  view.dispatch(setDiagnostics(view.state, found));
  const [first] = found;
  if (!first) return;
  view.dispatch({
    selection: { anchor: first.from },
    effects: EditorView.scrollIntoView(first.from, { y: 'center' }),
  });
  view.focus();
}
