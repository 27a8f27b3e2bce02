import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, indentOnInput, indentUnit, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { lintGutter, lintKeymap } from '@codemirror/lint';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from '@codemirror/view';
import { codeColours, codeLook } from './code-look.js';
import { hclStream } from './hcl-stream.js';

const hcl = StreamLanguage.define(hclStream);

export interface CodeUse {
  /** The name of the text for screen readers. */
  readonly label: string;
  /** Is called with the whole text after each change; undefined for a text that is only read. */
  readonly onChange?: ((text: string) => void) | undefined;
  /** Is called when the reader presses Ctrl Enter or ⌘ Enter. */
  readonly onSubmit?: (() => void) | undefined;
}

/**
 * Shows code in an element. The view has a shadow root: there it may adopt style sheets that code makes, which the
 * policy of the pages allows, while a style element would be refused.
 */
export function openCode(place: HTMLElement, doc: string, use: CodeUse): EditorView {
  const root = place.shadowRoot ?? place.attachShadow({ mode: 'open' });
  const extensions = [...SHARED, ...(use.onChange === undefined ? reading(use.label) : writing(use))];
  const view = new EditorView({ state: EditorState.create({ doc, extensions }), parent: root, root });
  return view;
}

const SHARED: readonly Extension[] = [
  codeLook,
  hcl,
  syntaxHighlighting(codeColours),
  lineNumbers(),
  bracketMatching(),
  search({ top: true }),
  highlightSelectionMatches(),
];

const reading = (label: string): readonly Extension[] => [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ 'aria-label': label, 'aria-readonly': 'true', tabindex: '0' }),
  keymap.of(searchKeymap),
];

/**
 * Replaces a selection by what is typed. Left to itself, the browser would insert an element with the style of the
 * replaced text, which the policy of the pages refuses with a complaint. Compositions are the browser's.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { data, inputType, isComposing } = event;
  const hasSelection = view.state.selection.ranges.some(({ empty }) => !empty);
  if (inputType !== 'insertText' || data === null || isComposing || !hasSelection) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

/** Tab indents here. Esc and then Tab leaves, which CodeMirror provides, and the description says so. */
const writing = ({ label, onChange, onSubmit }: CodeUse): readonly Extension[] => [
  EditorState.tabSize.of(2),
  indentUnit.of('  '),
  history(),
  indentOnInput(),
  lintGutter(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  EditorView.contentAttributes.of({
    'aria-label': label,
    tabindex: '0',
    'aria-description': 'Tab indents. Press Escape, then Tab to leave.',
    spellcheck: 'false',
    autocapitalize: 'off',
  }),
  keymap.of([
    {
      key: 'Mod-Enter',
      run: () => {
        onSubmit?.();
        return onSubmit !== undefined;
      },
    },
    ...searchKeymap,
    ...lintKeymap,
    ...historyKeymap,
    indentWithTab,
    ...defaultKeymap,
  ]),
  EditorView.domEventHandlers({ beforeinput: typeOver }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) onChange?.(update.state.doc.toString());
  }),
];
