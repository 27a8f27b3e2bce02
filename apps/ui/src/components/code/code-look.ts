import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/** The colours of code. They are those of the pages' theme, so they change with it. */
export const codeColours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--text-soft)', fontStyle: 'italic' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: [tags.number, tags.atom], color: 'var(--warn)' },
  { tag: tags.keyword, color: 'var(--accent)', fontWeight: '600' },
  { tag: [tags.function(tags.variableName), tags.meta], color: 'var(--busy)' },
  { tag: tags.propertyName, color: 'var(--text)' },
]);

const FIELD = { border: '1px solid var(--line-strong)', borderRadius: '6px', background: 'var(--surface)' };

/** The look of an editor. `--code-min` and `--code-max` of an element around it bound its height. */
export const codeLook = EditorView.theme({
  '&': {
    minHeight: 'var(--code-min, 0)',
    maxHeight: 'var(--code-max, none)',
    border: '1px solid var(--line-strong)',
    borderRadius: 'var(--radius)',
    background: 'var(--surface)',
    color: 'var(--text)',
    fontSize: '13px',
    overflow: 'hidden',
  },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55', overflow: 'auto' },
  '.cm-content': { padding: '12px 0', caretColor: 'var(--text)' },
  '.cm-line': { padding: '0 14px 0 8px' },
  '.cm-gutters': { border: '0', background: 'var(--surface-sunken)', color: 'var(--text-soft)' },
  '.cm-lineNumbers .cm-gutterElement': { padding: '0 6px 0 12px' },
  '.cm-activeLine': { background: 'var(--hover)' },
  '.cm-activeLineGutter': { background: 'var(--hover)', color: 'var(--text)' },
  '&.cm-focused .cm-matchingBracket': { background: 'var(--accent-soft)', outline: '1px solid var(--accent)' },
  '&.cm-focused .cm-nonmatchingBracket': { background: 'var(--bad-soft)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--bad)',
    textUnderlineOffset: '3px',
  },
  // In place of the library's picture, whose address the policy of the pages refuses.
  '.cm-lint-marker-error': { content: 'normal' },
  '.cm-lint-marker-error::before': {
    content: '"!"',
    display: 'block',
    width: '14px',
    height: '14px',
    borderRadius: '50%',
    background: 'var(--bad)',
    color: 'var(--surface)',
    font: '700 11px/14px var(--sans)',
    textAlign: 'center',
  },
  '.cm-tooltip': {
    ...FIELD,
    background: 'var(--surface-raised)',
    color: 'var(--text)',
    boxShadow: 'var(--shadow-high)',
  },
  '.cm-diagnostic': { padding: '6px 10px', maxWidth: '60ch', whiteSpace: 'pre-wrap' },
  '.cm-diagnostic-error': { borderLeft: '4px solid var(--bad)' },
  '.cm-panels': { background: 'var(--surface-sunken)', color: 'var(--text)' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { fontFamily: 'var(--sans)', padding: '8px 28px 8px 10px' },
  '.cm-panel.cm-search label': { fontSize: '13px' },
  '.cm-textfield': { ...FIELD, color: 'var(--text)', fontSize: '13px' },
  '.cm-button': { ...FIELD, backgroundImage: 'none', color: 'var(--text)', fontSize: '13px' },
  '.cm-searchMatch': { background: 'var(--warn-soft)' },
  '.cm-searchMatch-selected': { background: 'var(--accent-soft)', outline: '1px solid var(--accent)' },
  '.cm-selectionMatch': { background: 'var(--accent-soft)' },
});
