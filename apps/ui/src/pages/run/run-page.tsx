import { useMutation } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { ApiFailure } from '../../api/api-failure.js';
import buttons from '../../components/buttons.module.css';
import { Failure } from '../../components/failure.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { objectAddress } from '../../app/object-address.js';
import { errorLine } from './error-line.js';
import { Plan } from './plan.js';
import { EXAMPLE } from './run-example.js';
import styles from './run-page.module.css';
import { planJob, runJob } from './submit-job.js';

const route = getRouteApi('/jobs/run');

/** A job file, what registering it would do, and then its registration: nothing runs that was not shown before. */
export function RunPage() {
  const { example } = route.useSearch();
  const [source, setSource] = useState(example === undefined ? '' : EXAMPLE);
  const editor = useRef<HTMLTextAreaElement>(null);
  const navigate = useNavigate();
  const plan = useMutation({ mutationFn: planJob, onError: (error) => select(editor.current, error) });
  const run = useMutation({
    mutationFn: runJob,
    onSuccess: (_, { job }) =>
      navigate({
        to: '/jobs/$job',
        params: { job: objectAddress({ id: job.ID ?? '', namespace: job.Namespace ?? 'default' }) },
      }),
  });
  const edit = (text: string): void => {
    setSource(text);
    plan.reset();
    run.reset();
  };
  return (
    <>
      <PageHead
        title="Run a job"
        above={<Link to="/jobs">Jobs</Link>}
        about="Write or paste a job file in HCL. The plan shows what would change; nothing runs before."
      />
      <textarea
        ref={editor}
        className={styles['text']}
        aria-label="Job file"
        value={source}
        spellCheck={false}
        autoCapitalize="off"
        onChange={(event) => edit(event.target.value)}
      />
      <div className={styles['choices']}>
        <button
          type="button"
          className={`${buttons['button']} ${plan.data ? '' : buttons['main']}`}
          disabled={plan.isPending || source.trim() === ''}
          onClick={() => plan.mutate(source)}
        >
          Plan
        </button>
        {plan.data && (
          <button
            type="button"
            className={`${buttons['button']} ${buttons['main']}`}
            disabled={run.isPending}
            onClick={() => run.mutate(plan.data)}
          >
            Run
          </button>
        )}
        {source === '' && (
          <button type="button" className={buttons['button']} onClick={() => edit(EXAMPLE)}>
            Begin with an example
          </button>
        )}
      </div>
      {plan.isError && <Failure error={plan.error} />}
      {run.isError && <Failure error={run.error} />}
      {plan.data && (
        <Section title="What would change">
          <Card>
            <div className={styles['plan']}>
              <Plan planned={plan.data} />
            </div>
          </Card>
        </Section>
      )}
    </>
  );
}

/** Marks the line that the server has found wrong. */
function select(editor: HTMLTextAreaElement | null, error: Error): void {
  const place = error instanceof ApiFailure && editor ? errorLine(error.message, editor.value) : undefined;
  if (!place) return;
  editor?.focus();
  editor?.setSelectionRange(place.start, place.end);
}
