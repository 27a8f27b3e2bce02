import { useQuery } from '@tanstack/react-query';
import type { ControlPlane } from '../../api/contract.js';
import { controlPlaneQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Facts } from '../../components/facts.js';
import { Card, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted } from '../../words/sizes.js';
import { lagInWords, servicesInWords } from './control-plane-words.js';

/** Who holds which role, how far the log has been taken in, and what waits for a scheduler. */
export const ControlPlaneState = () => (
  <Answer of={useQuery(controlPlaneQuery())}>{(state) => <State of={state} />}</Answer>
);

function State({ of: state }: { readonly of: ControlPlane }) {
  return (
    <>
      <Card>
        <Facts
          of={{
            'Last transaction': state.LogIndex.toLocaleString('en'),
            PostgreSQL: lagInWords(state.ProjectionLag),
            'Event streams': lagInWords(state.EventsLag),
            'Services that answer': servicesInWords(state.Services),
          }}
        />
      </Card>
      <Section title="Roles" note="one holder each, whoever has the lease">
        <Rows label="Roles" columns={ROLE_COLUMNS} rows={state.Roles} keyOf={({ Role }) => Role} />
      </Section>
      <Section title="Queues of the broker" note="evaluations">
        <Card>{state.Queues ? <Queues of={state.Queues} /> : <NoBroker />}</Card>
      </Section>
    </>
  );
}

type RoleRow = ControlPlane['Roles'][number];

const ROLE_COLUMNS: readonly Column<RoleRow>[] = [
  { title: 'Role', px: 100, share: 1, cell: ({ Role }) => Role },
  {
    title: 'State',
    px: 96,
    cell: ({ IsHeld, Holder }) => <StateOf state={IsHeld ? 'held' : Holder === '' ? 'never held' : 'no holder'} />,
  },
  {
    title: 'Holder',
    px: 150,
    share: 3,
    cell: ({ Holder }) => (Holder === '' ? '—' : <code title={Holder}>{Holder}</code>),
  },
  { title: 'Epoch', px: 60, align: 'right', cell: ({ Epoch }) => Epoch },
  { title: 'Since index', extra: true, px: 90, align: 'right', cell: ({ SinceIndex }) => SinceIndex },
];

const Queues = ({ of }: { readonly of: NonNullable<ControlPlane['Queues']> }) => (
  <Facts
    of={{
      'Ready for a scheduler': of.Ready,
      'In work': of.Unacked,
      'Behind one of their job': of.Pending,
      'For a later time': of.Waiting,
      'Waiting for room': of.Blocked,
      'To be canceled': of.Cancelable,
      'Plans to apply': counted(of.Plans, 'plan'),
    }}
  />
);

const NoBroker = () => (
  <Facts of={{ Broker: 'Nobody holds the role. Nothing is scheduled until a service takes it.' }} />
);
