import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { useEffect, useRef } from 'react';
import { queryText } from '../../api/client.js';
import { currentToken } from '../../api/token.js';
import { helloMessage, inputMessage, readExecMessage, sizeMessage } from './exec-messages.js';
import { withStyleSheets } from './style-sheet-elements.js';
import styles from './terminal-page.module.css';

export interface Session {
  readonly allocation: string;
  readonly task: string;
  readonly command: readonly string[];
}

interface TerminalViewProps {
  readonly session: Session;
  /** Is called with a sentence when the session is over. */
  readonly onEnd: (words: string) => void;
}

/** The number of lines that are kept above the screen. */
const MOST_LINES = 5_000;
/** This key leaves the terminal, which takes all others, Tab among them. */
const LEAVE_KEY = 'F6';

/** The terminal is dark in both themes, because programs choose their colours for a dark ground. */
const COLOURS = {
  background: '#10161e',
  foreground: '#e5e9f0',
  cursor: '#86abff',
  red: '#ff9389',
  green: '#6bd39a',
  yellow: '#f0b75a',
  blue: '#86abff',
  magenta: '#d6a2ff',
  cyan: '#7fd7e6',
};

/** A session in a task, from the moment when this is shown until it is not. */
export function TerminalView({ session, onEnd }: TerminalViewProps) {
  const place = useRef<HTMLDivElement>(null);
  const { allocation, task, command } = session;
  useEffect(() => {
    if (!place.current) return undefined;
    return run(place.current, { allocation, task, command }, onEnd);
  }, [allocation, task, command, onEnd]);
  return <div ref={place} className={styles['terminal']} role="region" aria-label={`Terminal in ${task}`} />;
}

/** @returns a function that ends the session */
function run(place: HTMLElement, { allocation, task, command }: Session, onEnd: (words: string) => void): () => void {
  const colours = getComputedStyle(place);
  const terminal = new Terminal({
    scrollback: MOST_LINES,
    screenReaderMode: true,
    fontSize: 13,
    fontFamily: colours.getPropertyValue('--mono'),
    theme: COLOURS,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  withStyleSheets(document, () => terminal.open(place));
  fit.fit();
  terminal.attachCustomKeyEventHandler(({ key }) => {
    if (key === LEAVE_KEY) terminal.blur();
    return key !== LEAVE_KEY;
  });
  const query = { task, command: JSON.stringify(command), tty: true, ws_handshake: true };
  const path = `/v1/client/allocation/${encodeURIComponent(allocation)}/exec${queryText(query)}`;
  const socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')));
  const tell = (message: string): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(message);
  };
  let isOver = false;
  const end = (words: string): void => {
    if (isOver) return;
    isOver = true;
    onEnd(words);
  };
  socket.addEventListener('open', () => {
    tell(helloMessage(currentToken()));
    tell(sizeMessage(terminal.cols, terminal.rows));
    terminal.focus();
  });
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const event = readExecMessage(data);
    if (event.kind === 'output') terminal.write(event.bytes);
    if (event.kind === 'exited') end(`The command has ended with code ${event.code}.`);
  });
  socket.addEventListener('close', ({ reason }) => end(reason === '' ? 'The connection was closed.' : reason));
  terminal.onData((text) => tell(inputMessage(text)));
  terminal.onResize(({ cols, rows }) => tell(sizeMessage(cols, rows)));
  const observer = new ResizeObserver(() => fit.fit());
  observer.observe(place);
  return () => {
    isOver = true;
    observer.disconnect();
    socket.close();
    terminal.dispose();
  };
}
