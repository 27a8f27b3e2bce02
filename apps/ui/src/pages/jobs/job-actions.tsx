import { useNavigate } from '@tanstack/react-router';
import { dispatchJob, evaluateJob, launchPeriodicJob, scaleGroup, startJob, stopJob } from '../../api/changes.js';
import type { Job } from '../../api/contract.js';
import { Action } from '../../components/action.js';
import { RestartJob } from './restart/restart-job.js';
import { textOf } from '../../components/form-values.js';
import { EditJobLink } from './edit-job-link.js';
import { objectAddress, type ObjectName } from '../../app/object-address.js';

interface OfJob {
  readonly name: ObjectName;
  readonly job: Job;
}

/** What can be done with a job as it is. */
export function JobActions({ name, job }: OfJob) {
  if (job.Stop)
    return (
      <Action
        needs={{ route: 'changeJob', namespace: name.namespace }}
        label="Start again"
        tone="main"
        title={`Start ${job.Name} again?`}
        text="It is registered anew and runs as before it was stopped."
        run={() => startJob(name, job)}
      />
    );
  return (
    <>
      <EditJobLink name={name} version={job.Version} />
      {job.ParameterizedJob && <Dispatch name={name} job={job} />}
      {job.Periodic && (
        <Action
          needs={{ route: 'launchJob', namespace: name.namespace }}
          label="Launch now"
          title={`Launch ${job.Name} now?`}
          text="One run begins at once; the schedule stays as it is."
          run={() => launchPeriodicJob(name)}
        />
      )}
      {!job.ParameterizedJob && !job.Periodic && job.Type !== 'system' && job.Type !== 'sysbatch' && (
        <Scale name={name} job={job} />
      )}
      {!job.ParameterizedJob && !job.Periodic && <RestartJob name={name} job={job} />}
      {!job.ParameterizedJob && !job.Periodic && (
        <Action
          needs={{ route: 'evaluateJob', namespace: name.namespace }}
          label="Evaluate"
          title={`Have ${job.Name} evaluated again?`}
          text="A scheduler looks at once at what should run and what does."
          run={() => evaluateJob(name)}
        />
      )}
      <Action
        needs={{ route: 'stopJob', namespace: name.namespace }}
        label="Stop"
        tone="danger"
        title={`Stop ${job.Name}?`}
        text="All its allocations are stopped. It can be started again until it is collected as garbage."
        run={() => stopJob(name)}
      />
    </>
  );
}

function Scale({ name, job }: OfJob) {
  const [first] = job.TaskGroups;
  if (!first) return undefined;
  return (
    <Action
      needs={{ route: 'scaleJob', namespace: name.namespace }}
      label="Scale"
      title={`How many of ${job.Name} should run?`}
      text="The job becomes a new version with this count."
      fields={
        <>
          <label>
            Group
            <select name="group" defaultValue={first.Name}>
              {job.TaskGroups.map(({ Name, Count }) => (
                <option key={Name} value={Name}>
                  {Name} (now {Count})
                </option>
              ))}
            </select>
          </label>
          <label>
            Count
            <input name="count" type="number" min={0} max={50_000} defaultValue={first.Count} required />
          </label>
        </>
      }
      run={(values) => {
        const group = textOf(values, 'group');
        const current = job.TaskGroups.find(({ Name }) => Name === group)?.Count ?? 0;
        return scaleGroup(name, group, Number(values.get('count')), current);
      }}
    />
  );
}

function Dispatch({ name, job }: OfJob) {
  const navigate = useNavigate();
  const { MetaRequired, MetaOptional, Payload } = job.ParameterizedJob ?? {};
  const required = (MetaRequired ?? []) as readonly string[];
  const metas = [...required, ...((MetaOptional ?? []) as readonly string[])];
  return (
    <Action
      needs={{ route: 'dispatchJob', namespace: name.namespace }}
      label="Dispatch"
      tone="main"
      title={`Begin a run of ${job.Name}`}
      text="The run is a job of its own, with these values."
      fields={
        <>
          {metas.map((meta) => (
            <label key={meta}>
              {meta}
              {required.includes(meta) ? '' : ' (optional)'}
              <input name={`meta.${meta}`} required={required.includes(meta)} />
            </label>
          ))}
          {Payload !== 'forbidden' && (
            <label>
              Payload{Payload === 'required' ? '' : ' (optional)'}
              <textarea name="payload" rows={4} required={Payload === 'required'} />
            </label>
          )}
        </>
      }
      run={async (values) => {
        const given = metas.map((meta) => [meta, textOf(values, `meta.${meta}`)] as const);
        const meta = Object.fromEntries(given.filter(([, value]) => value !== ''));
        const { DispatchedJobID: id } = await dispatchJob(name, meta, textOf(values, 'payload'));
        await navigate({ to: '/jobs/$job', params: { job: objectAddress({ id, namespace: name.namespace }) } });
      }}
    />
  );
}
