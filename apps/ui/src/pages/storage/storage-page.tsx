import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { CSIPluginListStub } from '../../api/contract.js';
import { csiVolumesQuery, hostVolumesQuery, nodesQuery, pluginsQuery } from '../../api/queries.js';
import { objectAddress } from '../../app/object-address.js';
import { Failure } from '../../components/failure.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { NodeLink, PluginLink } from '../../components/object-links.js';
import { Answer } from '../../components/answer.js';
import { Card, Empty, PageHead, Section, Waiting } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import {
  filteredVolumes,
  healthInWords,
  VOLUME_KINDS,
  type VolumeFilter,
  type VolumeRow,
  volumeRows,
} from './volume-list.js';

const route = getRouteApi('/storage');

const columns = (nameOf: (node: string) => string | undefined): readonly Column<VolumeRow>[] => [
  { title: 'Volume', px: 120, share: 2, cell: (row) => <VolumeLink row={row} /> },
  { title: 'Kind', extra: true, px: 44, cell: ({ kind }) => kind },
  { title: 'State', px: 116, cell: ({ state }) => <StateOf state={state} /> },
  { title: 'Namespace', extra: true, px: 90, share: 1, cell: ({ namespace }) => namespace },
  {
    title: 'Plugin',
    extra: true,
    px: 90,
    share: 1,
    cell: ({ kind, plugin }) => (kind === 'CSI' ? <PluginLink id={plugin} /> : plugin || '—'),
  },
  {
    title: 'Machine',
    extra: true,
    px: 90,
    share: 1,
    cell: ({ node }) => (node === '' ? '—' : <NodeLink id={node} name={nameOf(node)} />),
  },
  { title: 'Use', px: 110, share: 1, align: 'right', cell: ({ about }) => about },
];

function VolumeLink({ row: { kind, id, namespace, name } }: { readonly row: VolumeRow }) {
  return (
    <Link
      to={kind === 'CSI' ? '/storage/csi/$volume' : '/storage/host/$volume'}
      params={{ volume: objectAddress({ id, namespace }) }}
      title={id}
    >
      {name}
    </Link>
  );
}

/** The volumes of both kinds, and the plugins that make them. */
export function StoragePage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const csi = useQuery(csiVolumesQuery());
  const host = useQuery(hostVolumesQuery());
  const plugins = useQuery(pluginsQuery());
  const rows = volumeRows(csi.data ?? [], host.data ?? []);
  const choose = (change: VolumeFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <PageHead title="Storage" about="Volumes of single machines, and of plugins that any machine may use." />
      <Filters>
        <SearchField
          label="Search by name, ID or plugin"
          value={filter.search}
          onChange={(search) => choose({ search })}
        />
        <Choice
          label="Kind"
          all="All kinds"
          options={VOLUME_KINDS}
          value={filter.kind}
          onChange={(kind) => choose({ kind })}
        />
        <Choice
          label="Namespace"
          all="All namespaces"
          options={[...new Set(rows.map(({ namespace }) => namespace))].toSorted()}
          value={filter.namespace}
          onChange={(namespace) => choose({ namespace })}
        />
      </Filters>
      {csi.isError && <Failure error={csi.error} />}
      {host.isError && <Failure error={host.error} />}
      {csi.isPending || host.isPending ? <Waiting /> : <Volumes all={rows} filter={filter} />}
      <Section title="CSI plugins">
        <Answer of={plugins}>{(all) => <Plugins all={all} />}</Answer>
      </Section>
    </>
  );
}

function Volumes({ all, filter }: { readonly all: readonly VolumeRow[]; readonly filter: VolumeFilter }) {
  const nodes = useQuery(nodesQuery());
  const names = new Map(nodes.data?.map(({ ID, Name }) => [ID, Name]));
  const rows = filteredVolumes(all, filter);
  if (all.length === 0)
    return (
      <Empty title="No volumes">
        <p>
          <code>npx waybill volume init</code> writes an example of a file that makes one.
        </p>
      </Empty>
    );
  if (rows.length === 0)
    return (
      <Empty title="No volume matches">
        <p>
          <Link to="/storage">Show all</Link>
        </p>
      </Empty>
    );
  return (
    <Rows
      label="Volumes"
      columns={columns((node) => names.get(node))}
      rows={rows}
      keyOf={({ kind, id, namespace }) => `${kind} ${namespace} ${id}`}
    />
  );
}

const PLUGIN_COLUMNS: readonly Column<CSIPluginListStub>[] = [
  { title: 'Plugin', px: 110, share: 2, cell: ({ ID }) => <PluginLink id={ID} /> },
  { title: 'Provider', extra: true, px: 120, share: 2, cell: ({ Provider }) => Provider },
  {
    title: 'Controllers',
    extra: true,
    px: 120,
    share: 1,
    cell: ({ ControllerRequired, ControllersHealthy, ControllersExpected }) =>
      ControllerRequired ? healthInWords({ healthy: ControllersHealthy, expected: ControllersExpected }) : 'not needed',
  },
  {
    title: 'Machines',
    px: 120,
    share: 1,
    cell: ({ NodesHealthy, NodesExpected }) => healthInWords({ healthy: NodesHealthy, expected: NodesExpected }),
  },
];

const Plugins = ({ all }: { readonly all: readonly CSIPluginListStub[] }) =>
  all.length === 0 ? (
    <Card>
      <Empty title="No CSI plugin runs" />
    </Card>
  ) : (
    <Rows label="CSI plugins" columns={PLUGIN_COLUMNS} rows={all} keyOf={({ ID }) => ID} />
  );
