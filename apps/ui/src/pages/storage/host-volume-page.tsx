import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { deleteHostVolume } from '../../api/changes.js';
import type { HostVolume } from '../../api/contract.js';
import { hostVolumeQuery, nodesQuery } from '../../api/queries.js';
import { readObjectAddress } from '../../app/object-address.js';
import { Action } from '../../components/action.js';
import { AllocationRows } from '../../components/allocation-rows.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { NodeLink } from '../../components/object-links.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { StateOf } from '../../components/status.js';
import { bytesInWords, counted } from '../../words/sizes.js';

const route = getRouteApi('/storage/host/$volume');

/** One volume of a machine, and the allocations that use it. */
export function HostVolumePage() {
  const name = readObjectAddress(route.useParams().volume);
  return <Answer of={useQuery(hostVolumeQuery(name))}>{(volume) => <VolumeView volume={volume} />}</Answer>;
}

function VolumeView({ volume }: { readonly volume: HostVolume }) {
  const nodes = useQuery(nodesQuery());
  const navigate = route.useNavigate();
  const users = volume.Allocations ?? [];
  return (
    <>
      <PageHead title={volume.Name} above={<Link to="/storage">Storage</Link>} state={<StateOf state={volume.State} />}>
        <Action
          needs={{ route: 'deleteHostVolume', namespace: volume.Namespace }}
          label="Delete"
          tone="danger"
          title={`Delete the volume ${volume.Name}?`}
          text="Its plugin removes what is stored in it. A volume that an allocation uses is not deleted."
          run={async () => {
            await deleteHostVolume({ id: volume.ID, namespace: volume.Namespace });
            await navigate({ to: '/storage' });
          }}
        />
      </PageHead>
      <Card>
        <Facts
          of={{
            ID: <code>{volume.ID}</code>,
            Namespace: volume.Namespace,
            Machine: <NodeLink id={volume.NodeID} name={nodes.data?.find(({ ID }) => ID === volume.NodeID)?.Name} />,
            Pool: volume.NodePool,
            Plugin: volume.PluginID || 'none, it was registered',
            Path: <code>{volume.HostPath}</code>,
            Capacity: volume.CapacityBytes === 0 ? undefined : bytesInWords(volume.CapacityBytes),
            Access: (volume.RequestedCapabilities ?? []).map(({ AccessMode }) => AccessMode).join(', ') || undefined,
            Created: <TimeAgo time={volume.CreateTime} />,
            Changed: <TimeAgo time={volume.ModifyTime} />,
          }}
        />
      </Card>
      <Section title="Used by" note={counted(users.length, 'allocation')}>
        <AllocationRows of="node" rows={users} />
      </Section>
    </>
  );
}
