import { getRouteApi, Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Failure } from '../../components/failure.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { NodeLink } from '../../components/object-links.js';
import { Empty, PageHead, Section, Waiting } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { counted, megabytesInWords } from '../../words/sizes.js';
import { NODE_STATES } from '../clients/node-list-filter.js';
import { useTopology } from './followed-topology.js';
import { MachineMap } from './machine-map.js';
import { RoomBar } from './room-bar.js';
import {
  filteredMachines,
  groupsOf,
  type Machine,
  type MachineGroup,
  type Measure,
  shareOf,
  type TopologyFilter,
} from './topology.js';
import styles from './topology-page.module.css';

const route = getRouteApi('/topology');

/** How full the cluster is: every machine as a cell, by datacenter and pool, and all of them as rows below. */
export function TopologyPage() {
  const { by: given, ...filter } = route.useSearch();
  const by: Measure = given === 'cpu' ? 'cpu' : 'memory';
  const navigate = route.useNavigate();
  const { machines, error } = useTopology();
  const choose = (change: TopologyFilter & { readonly by?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const all = machines ?? [];
  const valuesOf = (member: 'datacenter' | 'pool'): readonly string[] =>
    [...new Set(all.map((machine) => machine[member]))].toSorted();
  return (
    <>
      <PageHead title="Topology" about="How much of each machine is given to allocations." />
      <Filters>
        <SearchField label="Search by machine or job" value={filter.search} onChange={(search) => choose({ search })} />
        <select
          className={styles['measure']}
          aria-label="Measure"
          value={by}
          onChange={(event) => choose({ by: event.target.value })}
        >
          <option value="memory">By memory</option>
          <option value="cpu">By CPU</option>
        </select>
        <Choice
          label="Datacenter"
          all="All datacenters"
          options={valuesOf('datacenter')}
          value={filter.datacenter}
          onChange={(datacenter) => choose({ datacenter })}
        />
        <Choice
          label="Pool"
          all="All pools"
          options={valuesOf('pool')}
          value={filter.pool}
          onChange={(pool) => choose({ pool })}
        />
        <Choice
          label="State"
          all="All states"
          options={NODE_STATES}
          value={filter.status}
          onChange={(status) => choose({ status })}
        />
      </Filters>
      {error !== null && error !== undefined && <Failure error={error} />}
      {machines ? <Machines all={machines} filter={filter} by={by} /> : !error && <Waiting />}
    </>
  );
}

interface MachinesProps {
  readonly all: readonly Machine[];
  readonly filter: TopologyFilter;
  readonly by: Measure;
}

function Machines({ all, filter, by }: MachinesProps) {
  const { search, datacenter, pool, status } = filter;
  const rows = useMemo(
    () => filteredMachines(all, { search, datacenter, pool, status }),
    [all, search, datacenter, pool, status],
  );
  const groups = useMemo(() => groupsOf(rows), [rows]);
  const columns = useMemo(() => columnsOf(by, search?.trim().toLowerCase() ?? ''), [by, search]);
  if (all.length === 0) return <Empty title="No machines yet" />;
  if (rows.length === 0)
    return (
      <Empty title="No machine matches">
        <p>
          <Link to="/topology">Show all</Link>
        </p>
      </Empty>
    );
  return (
    <>
      <Legend />
      {groups.map((group) => (
        <Group key={`${group.datacenter} ${group.pool}`} group={group} by={by} />
      ))}
      <Section title="Machines" note={counted(rows.length, 'machine')}>
        <Rows label="Machines" columns={columns} rows={rows} keyOf={({ id }) => id} />
      </Section>
    </>
  );
}

/** An amount with its unit. */
const inWords = (amount: number, by: Measure): string =>
  by === 'cpu' ? `${amount.toLocaleString('en')} MHz` : megabytesInWords(amount);

const percent = (share: number): string => `${Math.round(share * 100)} %`;

const columnsOf = (by: Measure, text: string): readonly Column<Machine>[] => [
  { title: 'Machine', px: 110, share: 1, cell: ({ id, name }) => <NodeLink id={id} name={name} /> },
  { title: 'State', extra: true, px: 110, cell: ({ state }) => <StateOf state={state} /> },
  { title: 'Datacenter', extra: true, px: 84, cell: ({ datacenter }) => datacenter },
  { title: 'Pool', extra: true, px: 84, cell: ({ pool }) => pool },
  { title: 'Allocations', px: 120, share: 3, cell: (machine) => <RoomBar machine={machine} by={by} text={text} /> },
  {
    title: 'Given',
    px: 64,
    align: 'right',
    cell: (machine) => percent(shareOf(machine, by)),
  },
  {
    title: 'Of',
    extra: true,
    px: 96,
    align: 'right',
    cell: ({ offered }) => inWords(offered[by], by),
  },
];

interface GroupProps {
  readonly group: MachineGroup;
  readonly by: Measure;
}

const Group = ({ group, by }: GroupProps) => (
  <Section
    title={`${group.datacenter} / ${group.pool}`}
    note={`${counted(group.machines.length, 'machine')}, ${percent(shareOf(group, by))} of ${inWords(group.offered[by], by)} given`}
  >
    <MachineMap
      machines={group.machines}
      by={by}
      label={`Map of ${counted(group.machines.length, 'machine')} in ${group.datacenter}, pool ${group.pool}. The table of machines has the same.`}
    />
  </Section>
);

const Legend = () => (
  <p className={styles['legend']}>
    Given:
    {['0 %', '25 %', '50 %', '75 %', '100 %'].map((words, at) => (
      <span key={words} className={styles['step']}>
        <span className={`${styles['cell']} ${styles[`use${at}`]}`} aria-hidden="true" />
        {words}
      </span>
    ))}
    <span className={styles['step']}>
      <span className={`${styles['cell']} ${styles['away']}`} aria-hidden="true" />
      takes no work
    </span>
    <span className={styles['step']}>
      <span className={`${styles['cell']} ${styles['down']}`} aria-hidden="true" />
      down
    </span>
  </p>
);
