import type { StreamParser, StringStream } from '@codemirror/language';

/** Context is the kind of text at a place of a file; contexts nest. */
type Context = 'code' | 'braces' | 'brackets' | 'comment' | 'string' | 'template' | { readonly heredoc: string };

/** HclState says where in a file the reader is. It is copied for each line that the editor may continue from. */
export interface HclState {
  readonly contexts: Context[];
  /** Whether the next word begins a statement, so that it is the name of an attribute or of a block. */
  isStart: boolean;
  /** The end word of a heredoc that begins on the next line. */
  heredoc: string | undefined;
}

const WORD = /^[\p{L}_][\p{L}\p{N}_-]*/u;
const NUMBER = /^\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/;
const HEREDOC = /^<<-?([\p{L}_][\p{L}\p{N}_-]*)\s*$/u;
const OPERATOR = /^(?:=>|==|!=|<=|>=|&&|\|\||\.\.\.|[-+*/%<>!?:=.,])/;

const CONSTANTS: ReadonlySet<string> = new Set(['true', 'false', 'null']);
const KEYWORDS: ReadonlySet<string> = new Set(['for', 'in', 'if', 'else', 'endif', 'endfor']);

/**
 * Colours job files in HCL, and JSON, which has the same strings, numbers and brackets. It names each piece of a line
 * and never refuses a text: the server says what is wrong with one. Cost: one pass over the lines on the screen.
 */
export const hclStream: StreamParser<HclState> = {
  name: 'hcl',
  startState: () => ({ contexts: ['code'], isStart: true, heredoc: undefined }),
  copyState: ({ contexts, isStart, heredoc }) => ({ contexts: [...contexts], isStart, heredoc }),
  token(stream, state) {
    const context = state.contexts.at(-1) ?? 'code';
    if (stream.sol()) {
      if (state.heredoc !== undefined) return beginHeredoc(stream, state, state.heredoc);
      if (context === 'code' || context === 'braces') state.isStart = true;
    }
    if (context === 'comment') return comment(stream, state);
    if (context === 'string') return quoted(stream, state);
    if (typeof context === 'object') return heredocText(stream, state, context.heredoc);
    return code(stream, state);
  },
  blankLine(state) {
    if (state.heredoc === undefined) return;
    state.contexts.push({ heredoc: state.heredoc });
    state.heredoc = undefined;
  },
  /** Returns the columns before a line: two for each open brace or bracket. Texts of heredocs stay where they are. */
  indent({ contexts }, textAfter, { unit }) {
    if (typeof contexts.at(-1) === 'object') return null;
    const open = contexts.filter((one) => one === 'braces' || one === 'brackets' || one === 'template').length;
    return Math.max(0, open - (/^\s*[}\])]/.test(textAfter) ? 1 : 0)) * unit;
  },
  languageData: { commentTokens: { line: '#', block: { open: '/*', close: '*/' } }, indentOnInput: /^\s*[}\])]$/ },
};

function code(stream: StringStream, state: HclState): string | null {
  if (stream.eatSpace()) return null;
  const heredoc = heredocWord(stream);
  if (heredoc !== undefined) {
    state.heredoc = heredoc;
    return 'string';
  }
  if (stream.match('#') || stream.match('//')) {
    stream.skipToEnd();
    return 'comment';
  }
  if (stream.match('/*')) {
    state.contexts.push('comment');
    return comment(stream, state);
  }
  if (stream.match('"')) {
    state.contexts.push('string');
    return quoted(stream, state);
  }
  const isStart = state.isStart;
  state.isStart = false;
  if (stream.match(NUMBER)) return 'number';
  if (stream.match(WORD)) return word(stream, isStart);
  if (stream.match(OPERATOR)) return 'operator';
  return bracket(stream, state);
}

function heredocWord(stream: StringStream): string | undefined {
  const found = stream.match(HEREDOC);
  return typeof found === 'object' ? found?.[1] : undefined;
}

function word(stream: StringStream, isStart: boolean): string {
  const text = stream.current();
  if (CONSTANTS.has(text)) return 'atom';
  if (stream.match(/^\s*=(?![=>])/, false)) return 'propertyName';
  if (isStart && stream.match(/^\s*["{\p{L}]/u, false)) return 'keyword';
  if (stream.match(/^\(/, false)) return 'function';
  return KEYWORDS.has(text) ? 'keyword' : 'variableName';
}

const CLOSED_BY: Readonly<Record<string, Context>> = { '{': 'braces', '[': 'brackets', '(': 'brackets' };

function bracket(stream: StringStream, state: HclState): string | null {
  const character = stream.next() ?? '';
  const opened = CLOSED_BY[character];
  if (opened !== undefined) {
    state.contexts.push(opened);
    state.isStart = opened === 'braces';
    return 'bracket';
  }
  if (!'}])'.includes(character)) return null;
  // The end of a `${…}` goes on with the string or heredoc around it.
  const closed = state.contexts.at(-1);
  if (state.contexts.length > 1) state.contexts.pop();
  return closed === 'template' ? 'meta' : 'bracket';
}

function comment(stream: StringStream, state: HclState): string {
  if (stream.skipTo('*/')) {
    stream.match('*/');
    state.contexts.pop();
  } else {
    stream.skipToEnd();
  }
  return 'comment';
}

/** Reads a string to its end or to a `${`. A string ends with its line, because HCL allows no line breaks in strings. */
function quoted(stream: StringStream, state: HclState): string {
  if (beginsTemplate(stream)) {
    state.contexts.push('template');
    return 'meta';
  }
  while (!stream.eol()) {
    if (stream.match(/^(?:\\.|\$\$\{|%%\{)/)) continue;
    if (stream.match(/^[$%]\{/, false)) return 'string';
    if (stream.next() === '"') {
      state.contexts.pop();
      // In JSON the string before a colon is the name of a member.
      return stream.match(/^\s*:/, false) ? 'propertyName' : 'string';
    }
  }
  state.contexts.pop();
  return 'string';
}

function beginHeredoc(stream: StringStream, state: HclState, heredoc: string): string {
  state.heredoc = undefined;
  state.contexts.push({ heredoc });
  return heredocText(stream, state, heredoc);
}

function heredocText(stream: StringStream, state: HclState, heredoc: string): string {
  if (stream.sol() && stream.string.trim() === heredoc) {
    stream.skipToEnd();
    state.contexts.pop();
    return 'string';
  }
  if (beginsTemplate(stream)) {
    state.contexts.push('template');
    return 'meta';
  }
  while (!stream.eol() && !stream.match(/^[$%]\{/, false)) if (!stream.match(/^(?:\$\$\{|%%\{)/)) stream.next();
  return 'string';
}

/** Reads `${` or `%{`, but not `$${`, which is text. */
const beginsTemplate = (stream: StringStream): boolean => stream.match(/^[$%]\{~?/) !== null;
