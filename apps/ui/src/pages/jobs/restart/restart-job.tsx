import { Dialog } from '@base-ui/react/dialog';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { callApi } from '../../../api/client.js';
import type { Job } from '../../../api/contract.js';
import { useMay } from '../../../api/rights.js';
import type { ObjectName } from '../../../app/object-address.js';
import buttons from '../../../components/buttons.module.css';
import { textOf } from '../../../components/form-values.js';
import { Failure } from '../../../components/failure.js';
import { AllocationLink } from '../../../components/object-links.js';
import { counted } from '../../../words/sizes.js';
import { allocationsToRestart, BATCH_SIZE_PATTERN, batchesOf } from './batches.js';
import styles from './restart-job.module.css';
import { restartInBatches, type RestartProgress } from './restart-run.js';
import { restartServer } from './restart-server.js';

const MS_PER_SECOND = 1_000;

interface RestartJobProps {
  readonly name: ObjectName;
  readonly job: Job;
}

/** A button that restarts or replaces the allocations of a job in batches, with the choices of `job restart`. */
export function RestartJob(props: RestartJobProps) {
  return useMay({ route: 'restartAllocation', namespace: props.name.namespace }) === true && <Offered {...props} />;
}

function Offered({ name, job }: RestartJobProps) {
  const [isOpen, setOpen] = useState(false);
  const { run, progress, end, begin } = useRestartRun(name, job);
  const open = (opened: boolean): void => {
    if (opened && !run.isPending) run.reset();
    setOpen(opened || run.isPending);
  };
  return (
    <Dialog.Root open={isOpen} onOpenChange={open}>
      <Dialog.Trigger className={buttons['button']}>Restart</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className={buttons['backdrop']} />
        <Dialog.Popup className={buttons['popup']}>
          <Dialog.Title>Restart {job.Name}?</Dialog.Title>
          <Dialog.Description className={buttons['text']}>
            This page restarts batch after batch, so keep it open until all are done.
          </Dialog.Description>
          {run.isIdle ? (
            <Choices job={job} begin={begin} />
          ) : (
            <>
              <Progress of={progress} isOver={!run.isPending} />
              {run.isError && <Failure error={run.error} />}
              <div className={buttons['choices']}>
                {run.isPending ? (
                  <button type="button" className={`${buttons['button']} ${buttons['danger']}`} onClick={end}>
                    Begin no other batch
                  </button>
                ) : (
                  <Dialog.Close className={buttons['button']}>Close</Dialog.Close>
                )}
              </div>
            </>
          )}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The run of one dialog. It goes on until it is over or ended, and ends when the page is left. */
function useRestartRun(name: ObjectName, job: Job) {
  const [progress, setProgress] = useState<RestartProgress>();
  const ending = useRef(new AbortController());
  useEffect(() => () => ending.current.abort(), []);
  const run = useMutation({
    mutationFn: async (chosen: FormData) => {
      ending.current = new AbortController();
      setProgress(undefined);
      const all = await callApi('GET /v1/job/{jobID}/allocations', {
        path: { jobID: name.id },
        query: { namespace: name.namespace },
      });
      const concerned = allocationsToRestart(all, textOf(chosen, 'group'));
      return restartInBatches({
        batches: batchesOf(concerned, textOf(chosen, 'size')),
        waitMs: Number(chosen.get('wait')) * MS_PER_SECOND,
        isReplacing: textOf(chosen, 'how') === 'replace',
        goesOnAfterFailures: textOf(chosen, 'failures') === 'go on',
        server: restartServer(name, job),
        pause,
        signal: ending.current.signal,
        onProgress: setProgress,
      });
    },
    onSuccess: setProgress,
  });
  return { run, progress, begin: (chosen: FormData) => run.mutate(chosen), end: () => ending.current.abort() };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function Choices({ job, begin }: { readonly job: Job; readonly begin: (chosen: FormData) => void }) {
  const isOnEachMachine = job.Type === 'system' || job.Type === 'sysbatch';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        begin(new FormData(event.currentTarget));
      }}
    >
      <div className={buttons['fields']}>
        <label>
          Group
          <select name="group">
            <option value="">All groups</option>
            {job.TaskGroups.map(({ Name }) => (
              <option key={Name}>{Name}</option>
            ))}
          </select>
        </label>
        <label>
          How
          <select name="how">
            <option value="restart">Restart the running tasks where they are</option>
            {!isOnEachMachine && <option value="replace">Stop each allocation and wait for its replacement</option>}
          </select>
        </label>
        <label>
          Allocations at a time, or a percentage
          <input
            name="size"
            defaultValue="1"
            required
            pattern={BATCH_SIZE_PATTERN}
            title="A number such as 3, or 25%"
          />
        </label>
        <label>
          Seconds between two batches
          <input name="wait" type="number" min={0} max={3_600} defaultValue={0} required />
        </label>
        <label>
          After a failure
          <select name="failures">
            <option value="end">End</option>
            <option value="go on">Go on with the next batch</option>
          </select>
        </label>
      </div>
      <div className={buttons['choices']}>
        <Dialog.Close className={buttons['button']}>Cancel</Dialog.Close>
        <button type="submit" className={`${buttons['button']} ${buttons['main']}`}>
          Restart
        </button>
      </div>
    </form>
  );
}

function Progress({ of, isOver }: { readonly of: RestartProgress | undefined; readonly isOver: boolean }) {
  if (!of) return <p role="status">Looking for allocations…</p>;
  const { total, done, batch, batches, failures } = of;
  return (
    <>
      <p role="status">
        {isOver && done === total ? 'Done: ' : isOver ? 'Ended: ' : `Batch ${batch} of ${batches}: `}
        {done} of {counted(total, 'allocation')}
      </p>
      <progress
        className={styles['bar']}
        aria-label="Allocations"
        max={Math.max(total, 1)}
        value={total === 0 ? 1 : done}
      />
      {failures.length > 0 && (
        <ul className={styles['failures']}>
          {failures.map(({ allocation, text }) => (
            <li key={`${allocation} ${text}`}>
              {allocation !== '' && <AllocationLink id={allocation} />} {text}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
