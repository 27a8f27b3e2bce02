import { useMutation } from '@tanstack/react-query';
import { useLayoutEffect, useRef } from 'react';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';

import { downloadLog, type LogPlace, useFollowedLog } from './followed-log.js';
import styles from './task-log.module.css';

/** Distance from the end, px, within which a reader is taken to be at it. */
const NEAR_PX = 24;

interface TaskLogProps {
  readonly allocation: string;
  readonly tasks: readonly string[];
  readonly shown: Omit<LogPlace, 'allocation'>;
  readonly choose: (shown: Omit<LogPlace, 'allocation'>) => void;
}

/** What a task writes, of the task and the stream that are chosen. */
export function TaskLog({ allocation, tasks, shown, choose }: TaskLogProps) {
  const place = { allocation, ...shown };
  const download = useMutation({ mutationFn: () => downloadLog(place) });
  return (
    <>
      <div className={styles['bar']}>
        <select
          aria-label="Task"
          value={shown.task}
          onChange={(event) => choose({ ...shown, task: event.target.value })}
        >
          {tasks.map((task) => (
            <option key={task}>{task}</option>
          ))}
        </select>
        <select
          aria-label="Stream"
          value={shown.type}
          onChange={(event) => choose({ ...shown, type: event.target.value === 'stderr' ? 'stderr' : 'stdout' })}
        >
          <option>stdout</option>
          <option>stderr</option>
        </select>
        <button
          type="button"
          className={buttons['button']}
          disabled={download.isPending}
          onClick={() => download.mutate()}
        >
          Download
        </button>
      </div>
      {download.isError && <Failure error={download.error} />}
      <Output key={`${shown.task}/${shown.type}`} place={place} />
    </>
  );
}

/** The end of a log, and what is added to it. Stays at the end until the reader scrolls up. */
function Output({ place }: { readonly place: LogPlace }) {
  const { text, isCut, isOver, error } = useFollowedLog(place);
  const view = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (view.current && isAtEnd.current) view.current.scrollTop = view.current.scrollHeight;
  }, [text]);
  return (
    <>
      {error !== undefined && <Failure error={error} />}
      <pre
        ref={view}
        className={styles['log']}
        tabIndex={0}
        aria-label={`Output of ${place.task}, ${place.type}`}
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_PX;
        }}
      >
        {text}
      </pre>
      <p className={styles['note']} role="status">
        {isOver ? 'The output has ended.' : 'Following the output.'}
        {isCut && ' Only its end is shown; download it to see all.'}
      </p>
    </>
  );
}
