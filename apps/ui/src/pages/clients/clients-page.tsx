import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { NodeListStub } from '../../api/contract.js';
import { nodesQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { NodeLink, shortId } from '../../components/object-links.js';
import { Empty, PageHead } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { driversInWords, filteredNodes, NODE_STATES, type NodeFilter, stateOfNode } from './node-list-filter.js';

const route = getRouteApi('/clients');

const COLUMNS: readonly Column<NodeListStub>[] = [
  { title: 'Machine', px: 110, share: 2, cell: (node) => <NodeLink id={node.ID} name={node.Name} /> },
  { title: 'State', px: 110, cell: (node) => <StateOf state={stateOfNode(node)} /> },
  { title: 'Address', extra: true, px: 110, share: 1, cell: (node) => node.Address },
  { title: 'Datacenter', extra: true, px: 90, share: 1, cell: (node) => node.Datacenter },
  { title: 'Pool', extra: true, px: 80, share: 1, cell: (node) => node.NodePool },
  { title: 'Class', extra: true, px: 70, share: 1, cell: (node) => node.NodeClass || '—' },
  { title: 'Drivers', extra: true, px: 120, share: 2, cell: ({ Drivers }) => driversInWords(Drivers) },
  { title: 'ID', extra: true, px: 76, cell: (node) => <code title={node.ID}>{shortId(node.ID)}</code> },
];

/** All machines, or those that the address asks for. */
export function ClientsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const nodes = useQuery(nodesQuery());
  const choose = (change: NodeFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const pools = [...new Set((nodes.data ?? []).map(({ NodePool }) => NodePool))].toSorted();
  return (
    <>
      <PageHead title="Machines" />
      <Filters>
        <SearchField
          label="Search by name, ID or address"
          value={filter.search}
          onChange={(search) => choose({ search })}
        />
        <Choice
          label="State"
          all="All states"
          options={NODE_STATES}
          value={filter.status}
          onChange={(status) => choose({ status })}
        />
        <Choice
          label="Pool"
          all="All pools"
          options={pools}
          value={filter.pool}
          onChange={(pool) => choose({ pool })}
        />
      </Filters>
      <Answer of={nodes}>{(all) => <NodeRows all={all} filter={filter} />}</Answer>
    </>
  );
}

function NodeRows({ all, filter }: { readonly all: readonly NodeListStub[]; readonly filter: NodeFilter }) {
  const rows = filteredNodes(all, filter);
  if (all.length === 0)
    return (
      <Empty title="No machines yet">
        <p>
          <code>npx waybill agent invite</code> prints the command that adds one.
        </p>
      </Empty>
    );
  if (rows.length === 0)
    return (
      <Empty title="No machine matches">
        <p>
          <Link to="/clients">Show all</Link>
        </p>
      </Empty>
    );
  return <Rows label="Machines" columns={COLUMNS} rows={rows} keyOf={({ ID }) => ID} />;
}
