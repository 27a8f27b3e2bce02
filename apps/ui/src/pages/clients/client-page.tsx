import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { drainNode, endDrain, setEligibility } from '../../api/changes.js';
import type { DriverInfo, Node, NodeEvent } from '../../api/contract.js';
import { nodeAllocationsQuery, nodeQuery } from '../../api/queries.js';
import { Action } from '../../components/action.js';
import { AllocationRows } from '../../components/allocation-rows.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { HistoryLink } from '../../components/history-link.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted, megabytesInWords } from '../../words/sizes.js';
import { MachineFigures } from './machine-figures.js';
import { stateOfNode } from './node-list-filter.js';

const route = getRouteApi('/clients/$id');

/** One machine: whether it takes work, what it runs, what happened to it. */
export function ClientPage() {
  const { id } = route.useParams();
  return <Answer of={useQuery(nodeQuery(id))}>{(node) => <ClientView node={node} />}</Answer>;
}

function ClientView({ node }: { readonly node: Node }) {
  return (
    <>
      <PageHead
        title={node.Name}
        above={<Link to="/clients">Machines</Link>}
        state={<StateOf state={stateOfNode(node)} />}
        about={node.StatusDescription === '' ? undefined : node.StatusDescription}
      >
        <Changes node={node} />
      </PageHead>
      <Card>
        <Facts
          of={{
            ID: <code>{node.ID}</code>,
            History: <HistoryLink kind="node" id={node.ID} namespace="" />,
            Address: node.HTTPAddr === '' ? undefined : node.HTTPAddr,
            Datacenter: node.Datacenter,
            Pool: node.NodePool,
            Class: node.NodeClass === '' ? undefined : node.NodeClass,
            Version: node.Attributes?.['nomad.version'],
            CPU: `${node.NodeResources?.Cpu.CpuShares ?? 0} MHz, ${counted(node.NodeResources?.Cpu.TotalCpuCores ?? 0, 'core')}`,
            Memory: megabytesInWords(node.NodeResources?.Memory.MemoryMB ?? 0),
            Disk: megabytesInWords(node.NodeResources?.Disk.DiskMB ?? 0),
          }}
        />
      </Card>
      <Drain node={node} />
      {node.Status === 'ready' && <MachineFigures node={node} />}
      <Allocations id={node.ID} />
      <Events events={node.Events ?? []} />
      <Drivers drivers={node.Drivers ?? {}} />
      <Attributes of={{ ...node.Attributes, ...prefixed('meta.', node.Meta ?? {}) }} />
    </>
  );
}

const prefixed = (prefix: string, of: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [prefix + name, value]));

function Changes({ node }: { readonly node: Node }) {
  if (node.DrainStrategy)
    return (
      <Action
        needs={{ route: 'drainNode' }}
        label="End the drain"
        title={`End the drain of ${node.Name}?`}
        text="What was moved stays where it is now. The machine takes new work again."
        run={() => endDrain(node.ID)}
      />
    );
  const isEligible = node.SchedulingEligibility === 'eligible';
  return (
    <>
      <Action
        needs={{ route: 'setEligibility' }}
        label={isEligible ? 'Mark ineligible' : 'Mark eligible'}
        title={isEligible ? `Keep new work away from ${node.Name}?` : `Let ${node.Name} take new work?`}
        text={isEligible ? 'What runs there goes on.' : 'The scheduler may place allocations there again.'}
        run={() => setEligibility(node.ID, !isEligible)}
      />
      <Action
        needs={{ route: 'drainNode' }}
        label="Drain"
        tone="danger"
        title={`Drain ${node.Name}?`}
        text="Its allocations are moved to other machines, a few at a time, as their jobs allow."
        fields={
          <label>
            Minutes until what is left is stopped (0: at once)
            <input name="minutes" type="number" min={0} max={10_080} defaultValue={60} required />
          </label>
        }
        run={(values) => drainNode(node.ID, Number(values.get('minutes')))}
      />
    </>
  );
}

function Drain({ node: { DrainStrategy, LastDrain } }: { readonly node: Node }) {
  if (DrainStrategy)
    return (
      <Section title="Drain">
        <Card>
          <Facts
            of={{
              Began: <TimeAgo time={DrainStrategy.StartedAt} />,
              'What is left is stopped': DrainStrategy.ForceDeadline ? (
                <TimeAgo time={DrainStrategy.ForceDeadline} />
              ) : (
                'never'
              ),
              'System jobs': DrainStrategy.IgnoreSystemJobs ? 'stay' : 'are stopped last',
            }}
          />
        </Card>
      </Section>
    );
  if (!LastDrain) return undefined;
  return (
    <Section title="Last drain">
      <Card>
        <Facts
          of={{
            Outcome: LastDrain.Status,
            Began: <TimeAgo time={LastDrain.StartedAt} />,
            Ended: <TimeAgo time={LastDrain.UpdatedAt} />,
          }}
        />
      </Card>
    </Section>
  );
}

function Allocations({ id }: { readonly id: string }) {
  const allocations = useQuery(nodeAllocationsQuery(id));
  return (
    <Section title="Allocations" note={allocations.data && counted(allocations.data.length, 'allocation')}>
      <Answer of={allocations}>{(rows) => <AllocationRows of="node" rows={rows} />}</Answer>
    </Section>
  );
}

const EVENT_COLUMNS: readonly Column<NodeEvent>[] = [
  { title: 'When', px: 90, cell: (event) => <TimeAgo time={event.Timestamp} /> },
  { title: 'Part', extra: true, px: 100, share: 1, cell: (event) => event.Subsystem },
  { title: 'What happened', px: 200, share: 4, cell: (event) => event.Message },
];

const Events = ({ events }: { readonly events: readonly NodeEvent[] }) => (
  <Section title="Events">
    <Rows
      label="Events"
      columns={EVENT_COLUMNS}
      rows={events.toReversed()}
      keyOf={({ CreateIndex, Message }) => `${CreateIndex} ${Message}`}
    />
  </Section>
);

type NamedDriver = readonly [name: string, info: DriverInfo];

const DRIVER_COLUMNS: readonly Column<NamedDriver>[] = [
  { title: 'Driver', px: 100, share: 1, cell: ([name]) => name },
  {
    title: 'State',
    px: 110,
    cell: ([, { Detected, Healthy }]) => <StateOf state={!Detected ? 'absent' : Healthy ? 'healthy' : 'unhealthy'} />,
  },
  { title: 'About', px: 120, share: 3, cell: ([, { HealthDescription }]) => HealthDescription },
];

const Drivers = ({ drivers }: { readonly drivers: Readonly<Record<string, DriverInfo>> }) => (
  <Section title="Drivers">
    <Rows label="Drivers" columns={DRIVER_COLUMNS} rows={Object.entries(drivers)} keyOf={([name]) => name} />
  </Section>
);

type Pair = readonly [name: string, value: string];

const ATTRIBUTE_COLUMNS: readonly Column<Pair>[] = [
  { title: 'Name', px: 140, share: 1, cell: ([name]) => <code>{name}</code> },
  { title: 'Value', px: 140, share: 2, cell: ([, value]) => <code title={value}>{value}</code> },
];

const Attributes = ({ of }: { readonly of: Readonly<Record<string, string>> }) => (
  <Section title="Attributes">
    <Rows
      label="Attributes"
      columns={ATTRIBUTE_COLUMNS}
      rows={Object.entries(of).toSorted(([a], [b]) => (a < b ? -1 : 1))}
      keyOf={([name]) => name}
    />
  </Section>
);
