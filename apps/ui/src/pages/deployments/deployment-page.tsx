import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { AllocListStub, Deployment } from '../../api/contract.js';
import { deploymentAllocationsQuery, deploymentQuery } from '../../api/queries.js';
import { AllocationRows } from '../../components/allocation-rows.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { HistoryLink } from '../../components/history-link.js';
import { JobLink } from '../../components/object-links.js';
import { Card, PageHead, Section } from '../../components/page.js';
import { StateOf } from '../../components/status.js';
import { Waterfall } from '../../components/waterfall.js';
import { counted } from '../../words/sizes.js';
import { DeploymentActions } from './deployment-actions.js';
import { DeploymentGroups } from './deployment-groups.js';
import { progressOf } from './rollout.js';

const route = getRouteApi('/deployments/$id');

/** One rollout: how far it is, and what can be decided about it. */
export function DeploymentPage() {
  const { id } = route.useParams();
  return <Answer of={useQuery(deploymentQuery(id))}>{(one) => <DeploymentView deployment={one} />}</Answer>;
}

/** The number of evaluations whose steps are shown: the first ones of the rollout. */
const MOST_EVALUATIONS = 8;

/** Returns the evaluations that have placed the allocations of a rollout, in the order in which they did. */
const evaluationsOf = (allocations: readonly AllocListStub[]): readonly string[] =>
  [...new Set(allocations.toSorted((a, b) => a.CreateIndex - b.CreateIndex).map(({ EvalID }) => EvalID))].slice(
    0,
    MOST_EVALUATIONS,
  );

function DeploymentView({ deployment: one }: { readonly deployment: Deployment }) {
  const { healthy, wanted } = progressOf(one);
  const allocations = useQuery(deploymentAllocationsQuery(one.ID));
  return (
    <>
      <PageHead
        title={`Version ${one.JobVersion} of ${one.JobID}`}
        above={<Link to="/deployments">Deployments</Link>}
        state={<StateOf state={one.Status} />}
        about={one.StatusDescription}
      >
        <DeploymentActions deployment={one} />
      </PageHead>
      <Card>
        <Facts
          of={{
            Job: <JobLink id={one.JobID} namespace={one.Namespace} />,
            Healthy: `${healthy} of ${wanted}`,
            Began: <TimeAgo time={one.CreateTime} />,
            Changed: <TimeAgo time={one.ModifyTime} />,
            Regions: one.IsMultiregion ? 'several' : undefined,
            ID: <code>{one.ID}</code>,
            History: <HistoryLink kind="deployment" id={one.ID} namespace={one.Namespace} />,
          }}
        />
      </Card>
      <Section title="Groups">
        <DeploymentGroups deployment={one} />
      </Section>
      <Section title="Allocations" note={allocations.data && counted(allocations.data.length, 'allocation')}>
        <Answer of={allocations}>{(rows) => <AllocationRows of="job" rows={rows} />}</Answer>
      </Section>
      {allocations.data && <Waterfall title="Where the time went" evaluations={evaluationsOf(allocations.data)} />}
    </>
  );
}
