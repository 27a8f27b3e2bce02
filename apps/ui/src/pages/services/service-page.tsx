import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { AllocCheckStatus, ServiceRegistration } from '../../api/contract.js';
import { checksQuery, nodesQuery, serviceQuery } from '../../api/queries.js';
import { readObjectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { AllocationLink, JobLink, NodeLink } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { Tags } from '../../components/tags.js';
import { counted } from '../../words/sizes.js';
import { checksOf, stateOfCheck, stateOfInstance } from './check-state.js';

const route = getRouteApi('/services/$service');

/** The number of instances whose machines are asked for their checks. */
const MOST_CHECKED = 20;

/** One service: its instances, and what their checks say. */
export function ServicePage() {
  const name = readObjectAddress(route.useParams().service);
  const instances = useQuery(serviceQuery(name));
  return (
    <>
      <PageHead
        title={name.id}
        above={<Link to="/services">Services</Link>}
        about={`In the namespace ${name.namespace}.`}
      />
      <Answer of={instances}>{(rows) => <Instances service={name.id} rows={rows} />}</Answer>
    </>
  );
}

interface InstanceRow {
  readonly instance: ServiceRegistration;
  readonly machine: string | undefined;
  /** The checks; undefined if they are not known. */
  readonly checks: readonly AllocCheckStatus[] | undefined;
}

const INSTANCE_COLUMNS: readonly Column<InstanceRow>[] = [
  {
    title: 'Address',
    px: 150,
    share: 2,
    cell: ({ instance: { Address, Port } }) => <code>{Port === 0 ? Address : `${Address}:${Port}`}</code>,
  },
  { title: 'Checks', px: 96, cell: ({ checks }) => <InstanceState checks={checks} /> },
  { title: 'Allocation', px: 84, cell: ({ instance }) => <AllocationLink id={instance.AllocID} /> },
  {
    title: 'Job',
    extra: true,
    px: 100,
    share: 2,
    cell: ({ instance }) => <JobLink id={instance.JobID} namespace={instance.Namespace} />,
  },
  {
    title: 'Machine',
    extra: true,
    px: 84,
    share: 1,
    cell: ({ instance, machine }) => <NodeLink id={instance.NodeID} name={machine} />,
  },
  { title: 'Datacenter', extra: true, px: 84, share: 1, cell: ({ instance }) => instance.Datacenter },
  { title: 'Tags', extra: true, px: 120, share: 2, cell: ({ instance }) => <Tags of={instance.Tags ?? []} /> },
];

function InstanceState({ checks }: Pick<InstanceRow, 'checks'>) {
  if (checks === undefined) return '—';
  const state = stateOfInstance(checks);
  return state === undefined ? 'none' : <StateOf state={state} />;
}

function Instances({ service, rows }: { readonly service: string; readonly rows: readonly ServiceRegistration[] }) {
  const nodes = useQuery(nodesQuery());
  const machines = new Map(nodes.data?.map(({ ID, Name }) => [ID, Name]));
  const asked = [...new Set(rows.map(({ AllocID }) => AllocID))].slice(0, MOST_CHECKED);
  const answers = useQueries({ queries: asked.map((id) => checksQuery(id)) });
  const checksByAllocation = new Map(
    asked.map((id, at) => [id, answers[at]?.data && checksOf(answers[at]?.data, service)] as const),
  );
  if (rows.length === 0)
    return (
      <Empty title="No instance runs">
        <p>The service comes back when an allocation registers it again.</p>
      </Empty>
    );
  return (
    <>
      <Section title="Instances" note={counted(rows.length, 'instance')}>
        <Rows
          label="Instances"
          columns={INSTANCE_COLUMNS}
          rows={rows.map((instance) => ({
            instance,
            machine: machines.get(instance.NodeID),
            checks: checksByAllocation.get(instance.AllocID),
          }))}
          keyOf={({ instance }) => instance.ID}
        />
      </Section>
      <Checks
        rows={[...checksByAllocation].flatMap(([allocation, checks]) =>
          (checks ?? []).map((check) => ({ allocation, check })),
        )}
        isPart={asked.length === MOST_CHECKED}
      />
    </>
  );
}

interface CheckRow {
  readonly allocation: string;
  readonly check: AllocCheckStatus;
}

const CHECK_COLUMNS: readonly Column<CheckRow>[] = [
  { title: 'Check', px: 110, share: 2, cell: ({ check }) => check.Check },
  { title: 'State', px: 96, cell: ({ check }) => <StateOf state={stateOfCheck(check)} /> },
  { title: 'Allocation', px: 84, cell: ({ allocation }) => <AllocationLink id={allocation} /> },
  { title: 'Decides', extra: true, px: 90, share: 1, cell: ({ check }) => check.Mode },
  {
    title: 'Answer',
    extra: true,
    px: 140,
    share: 4,
    cell: ({ check: { Output, StatusCode } }) => (
      <span title={Output}>{[StatusCode || '', Output].filter(Boolean).join(' ') || '—'}</span>
    ),
  },
  // The API has seconds here.
  { title: 'When', px: 90, align: 'right', cell: ({ check }) => <TimeAgo time={check.Timestamp * 1e9} /> },
];

const Checks = ({ rows, isPart }: { readonly rows: readonly CheckRow[]; readonly isPart: boolean }) => (
  <Section
    title="Checks"
    note={`asked again every 10 seconds${isPart ? `, of the first ${MOST_CHECKED} allocations` : ''}`}
  >
    {rows.length === 0 ? (
      <Card>
        <Empty title="No checks">
          <p>
            A <code>check</code> block of the service says how to find out whether an instance works.
          </p>
        </Empty>
      </Card>
    ) : (
      <Rows
        label="Checks"
        columns={CHECK_COLUMNS}
        rows={rows.toSorted((a, b) => (a.check.Check < b.check.Check ? -1 : 1))}
        keyOf={({ allocation, check }) => `${allocation}/${check.ID}`}
      />
    )}
  </Section>
);
