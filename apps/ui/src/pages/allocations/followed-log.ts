import { useEffect, useState } from 'react';
import { queryText, send } from '../../api/client.js';
import { download } from '../../api/download.js';
import { appended, type LogText, NO_TEXT } from './log-text.js';

export interface LogPlace {
  readonly allocation: string;
  readonly task: string;
  readonly type: 'stdout' | 'stderr';
}

/** The number of bytes at the end that are read when a log is opened. */
const TAIL_BYTES = 65_536;

const logPath = ({ allocation, ...of }: LogPlace, more: Readonly<Record<string, string | number | boolean>>): string =>
  `/v1/client/fs/logs/${encodeURIComponent(allocation)}${queryText({ ...of, plain: true, ...more })}`;

export interface FollowedLog extends LogText {
  readonly error: unknown;
  /** Is true if the task has ended or its machine is away, so that nothing more will come. */
  readonly isOver: boolean;
}

const BEGINNING: FollowedLog = { ...NO_TEXT, error: undefined, isOver: false };

/**
 * Returns the end of a log, and what is written to it while the component is shown. There is one log for the life of a
 * component. It is drawn once per frame, however fast the log grows.
 */
export function useFollowedLog({ allocation, task, type }: LogPlace): FollowedLog {
  const [log, setLog] = useState(BEGINNING);
  useEffect(() => {
    const end = new AbortController();
    let pending = '';
    let frame = 0;
    const draw = (): void => {
      const more = pending;
      pending = '';
      frame = 0;
      setLog((before) => ({ ...before, ...appended(before, more) }));
    };
    const take = (text: string): void => {
      pending += text;
      frame ||= requestAnimationFrame(draw);
    };
    readLog({ allocation, task, type }, take, end.signal).then(
      () => setLog((before) => ({ ...before, isOver: true })),
      (error: unknown) => {
        if (!end.signal.aborted) setLog((before) => ({ ...before, error, isOver: true }));
      },
    );
    return () => {
      end.abort();
      cancelAnimationFrame(frame);
    };
  }, [allocation, task, type]);
  return log;
}

/** @throws ApiFailure */
async function readLog(place: LogPlace, take: (text: string) => void, signal: AbortSignal): Promise<void> {
  const path = logPath(place, { follow: true, origin: 'end', offset: TAIL_BYTES });
  const { body } = await send('GET', path, { signal });
  if (!body) return;
  const reader = body.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    take(value);
  }
}

/** Saves the whole log as a file. @throws ApiFailure */
export const downloadLog = (place: LogPlace): Promise<void> =>
  download(logPath(place, { origin: 'start', offset: 0 }), `${place.task}.${place.type}.log`);
