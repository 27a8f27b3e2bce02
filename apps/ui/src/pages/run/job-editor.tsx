import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ApiFailure } from '../../api/api-failure.js';
import { objectAddress } from '../../app/object-address.js';
import buttons from '../../components/buttons.module.css';
import { CodeEditor, type CodeProblem } from '../../components/code/code-editor.js';
import { Failure } from '../../components/failure.js';
import { Card, Section } from '../../components/page.js';
import { errorPlace, isAboutVariables } from './error-place.js';
import type { JobText } from './job-text.js';
import { Plan } from './plan.js';
import { EXAMPLE } from './run-example.js';
import styles from './run-page.module.css';
import { planJob, runJob } from './submit-job.js';

/** The editor of a job file: written, planned, and only then registered as it was planned. */
export function JobEditor({ first }: { readonly first: JobText }) {
  const [text, setText] = useState(first);
  const [isOpen, setOpen] = useState(first.variables !== '');
  const navigate = useNavigate();
  const plan = useMutation({ mutationFn: planJob });
  const run = useMutation({
    mutationFn: runJob,
    onSuccess: (_, { job }) =>
      navigate({
        to: '/jobs/$job',
        params: { job: objectAddress({ id: job.ID ?? '', namespace: job.Namespace ?? 'default' }) },
      }),
  });
  const edit = (changed: Partial<JobText>): void => {
    setText((before) => ({ ...before, ...changed }));
    plan.reset();
    run.reset();
  };
  const isEmpty = text.source.trim() === '';
  const submit = (): void => {
    if (!isEmpty && !plan.isPending) plan.mutate(text);
  };
  const wrong = useWrongPlaces(plan.error, text);
  return (
    <>
      <CodeEditor
        label="Job file"
        height="screen"
        value={text.source}
        problem={wrong.source}
        onChange={(source) => edit({ source })}
        onSubmit={submit}
      />
      <p className={styles['hint']}>
        <kbd>Tab</kbd> indents; <kbd>Esc</kbd>, then <kbd>Tab</kbd> leaves the editor. <kbd>Ctrl Enter</kbd> plans,{' '}
        <kbd>Ctrl F</kbd> searches.
      </p>
      <details
        className={styles['variables']}
        open={isOpen || wrong.variables !== undefined}
        onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
      >
        <summary>Variables of the job file</summary>
        <p>
          A value for each <code>variable</code> of the file without a default, such as <code>image = "redis:7"</code>.
        </p>
        <CodeEditor
          label="Variables"
          height="few"
          value={text.variables}
          problem={wrong.variables}
          onChange={(variables) => edit({ variables })}
          onSubmit={submit}
        />
      </details>
      <div className={styles['choices']}>
        <button
          type="button"
          className={`${buttons['button']} ${plan.data ? '' : buttons['main']}`}
          disabled={plan.isPending || isEmpty}
          onClick={submit}
        >
          {plan.isPending ? 'Planning…' : 'Plan'}
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
        {text.source === '' && (
          <button type="button" className={buttons['button']} onClick={() => edit({ source: EXAMPLE })}>
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

interface WrongPlaces {
  readonly source: CodeProblem | undefined;
  readonly variables: CodeProblem | undefined;
}
const NOTHING_WRONG: WrongPlaces = { source: undefined, variables: undefined };

/** Returns where the server has found a mistake. The places stay the same objects until there is another error. */
function useWrongPlaces(error: Error | null, { source, variables }: JobText): WrongPlaces {
  return useMemo(() => {
    if (!(error instanceof ApiFailure)) return NOTHING_WRONG;
    const { message } = error;
    const isInVariables = isAboutVariables(message);
    const place = errorPlace(message, isInVariables ? variables : source);
    const problem = place && { ...place, message };
    return isInVariables ? { source: undefined, variables: problem } : { source: problem, variables: undefined };
  }, [error, source, variables]);
}
