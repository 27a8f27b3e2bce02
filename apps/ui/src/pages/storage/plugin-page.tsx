import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { CSIInfo, CSIPlugin } from '../../api/contract.js';
import { nodesQuery, pluginQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { AllocationLink, NodeLink } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { healthInWords } from './volume-list.js';

const route = getRouteApi('/storage/plugins/$plugin');

/** One CSI plugin: where it runs, and whether it works there. */
export function PluginPage() {
  const { plugin } = route.useParams();
  return <Answer of={useQuery(pluginQuery(plugin))}>{(read) => <PluginView plugin={read} />}</Answer>;
}

function PluginView({ plugin }: { readonly plugin: CSIPlugin }) {
  return (
    <>
      <PageHead title={plugin.ID} above={<Link to="/storage">Storage</Link>} />
      <Card>
        <Facts
          of={{
            Provider: plugin.Provider,
            Version: plugin.Version,
            Controllers: plugin.ControllerRequired
              ? healthInWords({ healthy: plugin.ControllersHealthy, expected: plugin.ControllersExpected })
              : 'not needed',
            Machines: healthInWords({ healthy: plugin.NodesHealthy, expected: plugin.NodesExpected }),
          }}
        />
      </Card>
      {plugin.ControllerRequired && <Parts title="Controllers" parts={plugin.Controllers} />}
      <Parts title="Machines" parts={plugin.Nodes} />
    </>
  );
}

interface PartRow {
  readonly node: string;
  readonly name: string | undefined;
  readonly info: CSIInfo;
}

const COLUMNS: readonly Column<PartRow>[] = [
  { title: 'Machine', px: 100, share: 1, cell: ({ node, name }) => <NodeLink id={node} name={name} /> },
  { title: 'State', px: 104, cell: ({ info }) => <StateOf state={info.Healthy ? 'healthy' : 'unhealthy'} /> },
  { title: 'Allocation', px: 84, cell: ({ info }) => <AllocationLink id={info.AllocID} /> },
  { title: 'About', extra: true, px: 140, share: 2, cell: ({ info }) => info.HealthDescription || '—' },
  { title: 'Changed', extra: true, px: 90, align: 'right', cell: ({ info }) => <TimeAgo time={info.UpdateTime} /> },
];

interface PartsProps {
  readonly title: string;
  readonly parts: Readonly<Record<string, CSIInfo>>;
}

function Parts({ title, parts }: PartsProps) {
  const { data = [] } = useQuery(nodesQuery());
  const rows = Object.entries(parts).map(([node, info]) => ({
    node,
    name: data.find(({ ID }) => ID === node)?.Name,
    info,
  }));
  return (
    <Section title={title}>
      {rows.length === 0 ? (
        <Card>
          <Empty title="None runs" />
        </Card>
      ) : (
        <Rows label={title} columns={COLUMNS} rows={rows} keyOf={({ node }) => node} />
      )}
    </Section>
  );
}
