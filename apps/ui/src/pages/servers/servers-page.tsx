import { useQuery } from '@tanstack/react-query';
import { pauseBroker } from '../../api/changes.js';
import type { Member, SchedulerConfiguration } from '../../api/contract.js';
import { schedulerConfigurationQuery, serversQuery } from '../../api/queries.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import { Facts } from '../../components/facts.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { ControlPlaneState } from './control-plane.js';

const COLUMNS: readonly Column<Member>[] = [
  { title: 'Server', px: 120, share: 2, cell: ({ Name }) => Name },
  { title: 'State', px: 96, cell: ({ Status }) => <StateOf state={Status} /> },
  { title: 'Address', extra: true, px: 140, share: 2, cell: ({ Addr, Port }) => `${Addr}:${Port}` },
  { title: 'Version', extra: true, px: 80, share: 1, cell: ({ Tags }) => Tags['build'] ?? '—' },
  { title: 'Region', extra: true, px: 80, share: 1, cell: ({ Tags }) => Tags['region'] ?? '—' },
];

/** Who does what in the control plane, how far it has come, and how it schedules. */
export function ServersPage() {
  const servers = useQuery(serversQuery());
  const configuration = useQuery(schedulerConfigurationQuery());
  const isPaused = configuration.data?.SchedulerConfig.PauseEvalBroker;
  return (
    <>
      <PageHead title="Control plane">{isPaused !== undefined && <Pause isPaused={isPaused} />}</PageHead>
      <ControlPlaneState />
      <Section title="Servers">
        <Answer of={servers}>
          {({ Members }) => <Rows label="Servers" columns={COLUMNS} rows={Members} keyOf={({ Name }) => Name} />}
        </Answer>
      </Section>
      <Section title="Scheduler configuration">
        <Answer of={configuration}>{({ SchedulerConfig }) => <Configuration of={SchedulerConfig} />}</Answer>
      </Section>
    </>
  );
}

const Pause = ({ isPaused }: { readonly isPaused: boolean }) =>
  isPaused ? (
    <Action
      needs={{ route: 'configureScheduler' }}
      label="Resume scheduling"
      tone="main"
      title="Resume scheduling?"
      text="All evaluations that wait are worked on, in the order of their priority."
      run={() => pauseBroker(false)}
    />
  ) : (
    <Action
      needs={{ route: 'configureScheduler' }}
      label="Pause scheduling"
      tone="danger"
      title="Pause scheduling?"
      text="What runs goes on. Nothing is placed, replaced or rolled out until it is resumed, failed allocations included."
      run={() => pauseBroker(true)}
    />
  );

const yesOrNo = (is: boolean): string => (is ? 'yes' : 'no');

const Configuration = ({ of }: { readonly of: SchedulerConfiguration }) => (
  <Card>
    <Facts
      of={{
        'Scheduler algorithm': of.SchedulerAlgorithm,
        'Memory oversubscription': yesOrNo(of.MemoryOversubscriptionEnabled),
        'Reject job registration': yesOrNo(of.RejectJobRegistration),
        'Preemption by services': yesOrNo(of.PreemptionConfig.ServiceSchedulerEnabled),
        'Preemption by batch jobs': yesOrNo(of.PreemptionConfig.BatchSchedulerEnabled),
        'Preemption by system jobs': yesOrNo(of.PreemptionConfig.SystemSchedulerEnabled),
      }}
    />
  </Card>
);
