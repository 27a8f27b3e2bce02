import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { AllocListStub, CSIVolume } from '../../api/contract.js';
import { csiVolumeQuery } from '../../api/queries.js';
import { readObjectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { AllocationLink, JobLink, NodeLink, PluginLink } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { type Column, Rows } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { bytesInWords, counted } from '../../words/sizes.js';
import { healthInWords } from './volume-list.js';

const route = getRouteApi('/storage/csi/$volume');

/** One CSI volume, and the allocations that have claimed it. */
export function CsiVolumePage() {
  const name = readObjectAddress(route.useParams().volume);
  return <Answer of={useQuery(csiVolumeQuery(name))}>{(volume) => <VolumeView volume={volume} />}</Answer>;
}

function VolumeView({ volume }: { readonly volume: CSIVolume }) {
  return (
    <>
      <PageHead
        title={volume.Name || volume.ID}
        above={<Link to="/storage">Storage</Link>}
        state={<StateOf state={volume.Schedulable ? 'schedulable' : 'unschedulable'} />}
      />
      {!volume.Schedulable && (
        <Problem title="No allocation can be given this volume" reasons={reasonsAgainst(volume)} />
      )}
      <Card>
        <Facts
          of={{
            ID: <code>{volume.ID}</code>,
            'ID of the plugin': volume.ExternalID === '' ? undefined : <code>{volume.ExternalID}</code>,
            Namespace: volume.Namespace,
            Plugin: <PluginLink id={volume.PluginID} />,
            Provider: [volume.Provider, volume.ProviderVersion].filter(Boolean).join(' ') || undefined,
            'Access mode': volume.AccessMode || 'chosen by the first claim',
            'Attachment mode': volume.AttachmentMode || 'chosen by the first claim',
            Capacity: volume.Capacity === 0 ? undefined : bytesInWords(volume.Capacity),
            Controllers: volume.ControllerRequired
              ? healthInWords({ healthy: volume.ControllersHealthy, expected: volume.ControllersExpected })
              : 'not needed',
            Machines: healthInWords({ healthy: volume.NodesHealthy, expected: volume.NodesExpected }),
            Created: <TimeAgo time={volume.CreateTime} />,
            Changed: <TimeAgo time={volume.ModifyTime} />,
          }}
        />
      </Card>
      <Claims volume={volume} />
    </>
  );
}

function reasonsAgainst(volume: CSIVolume): readonly string[] {
  const isShort = volume.ControllerRequired && volume.ControllersHealthy === 0;
  return [
    ...(isShort ? [`The plugin ${volume.PluginID} needs a controller, and none is healthy.`] : []),
    ...(volume.NodesHealthy === 0 ? [`No machine runs a healthy plugin ${volume.PluginID}.`] : []),
    ...(volume.ResourceExhausted === null ? [] : ['The plugin has no room left.']),
  ];
}

interface Claim {
  readonly alloc: AllocListStub;
  readonly access: string;
}

const COLUMNS: readonly Column<Claim>[] = [
  { title: 'Allocation', px: 84, cell: ({ alloc }) => <AllocationLink id={alloc.ID} /> },
  {
    title: 'Job',
    px: 100,
    share: 2,
    cell: ({ alloc }) => <JobLink id={alloc.JobID} namespace={alloc.Namespace} />,
  },
  { title: 'State', px: 104, cell: ({ alloc }) => <StateOf state={alloc.ClientStatus} /> },
  { title: 'Access', px: 80, share: 1, cell: ({ access }) => access },
  {
    title: 'Machine',
    extra: true,
    px: 90,
    share: 1,
    cell: ({ alloc }) => <NodeLink id={alloc.NodeID} name={alloc.NodeName} />,
  },
  { title: 'Changed', extra: true, px: 90, align: 'right', cell: ({ alloc }) => <TimeAgo time={alloc.ModifyTime} /> },
];

function Claims({ volume: { Allocations, WriteAllocs } }: { readonly volume: CSIVolume }) {
  const claims = Allocations.map((alloc) => ({ alloc, access: alloc.ID in WriteAllocs ? 'writes' : 'reads' }));
  return (
    <Section title="Claims" note={counted(claims.length, 'claim')}>
      {claims.length === 0 ? (
        <Card>
          <Empty title="No allocation uses the volume" />
        </Card>
      ) : (
        <Rows label="Claims" columns={COLUMNS} rows={claims} keyOf={({ alloc }) => alloc.ID} />
      )}
    </Section>
  );
}
