import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Evaluation } from '../../api/contract.js';
import { evaluationQuery, jobQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { HistoryLink } from '../../components/history-link.js';
import { DeploymentLink, EvaluationLink, JobLink, NodeLink, shortId } from '../../components/object-links.js';
import { Card, PageHead } from '../../components/page.js';
import { Problem } from '../../components/problem.js';
import { StateOf } from '../../components/status.js';
import { Waterfall } from '../../components/waterfall.js';
import { placementFailureInWords } from '../../words/placement-failures.js';
import { counted } from '../../words/sizes.js';
import { causeOf, outcomeOf } from './evaluation-outcome.js';

const route = getRouteApi('/evaluations/$id');

/** One evaluation: why it was made, and what came of it. */
export function EvaluationPage() {
  const { id } = route.useParams();
  return <Answer of={useQuery(evaluationQuery(id))}>{(one) => <EvaluationView evaluation={one} />}</Answer>;
}

function EvaluationView({ evaluation: one }: { readonly evaluation: Evaluation }) {
  return (
    <>
      <PageHead
        title={`Evaluation ${shortId(one.ID)}`}
        above={<Link to="/evaluations">Evaluations</Link>}
        state={<StateOf state={one.Status} />}
        about={`${outcomeOf(one)}.`}
      />
      <Failures evaluation={one} />
      <Card>
        <Facts
          of={{
            Job: <JobLink id={one.JobID} namespace={one.Namespace} />,
            Because: causeOf(one),
            Machine: one.NodeID ? <NodeLink id={one.NodeID} /> : undefined,
            Deployment: one.DeploymentID ? <DeploymentLink id={one.DeploymentID} /> : undefined,
            Priority: one.Priority,
            Made: <TimeAgo time={one.CreateTime} />,
            Changed: <TimeAgo time={one.ModifyTime} />,
            'Not before': one.WaitUntil ? <TimeAgo time={one.WaitUntil} /> : undefined,
            'Followed by': one.NextEval ? <EvaluationLink id={one.NextEval} /> : undefined,
            Follows: one.PreviousEval ? <EvaluationLink id={one.PreviousEval} /> : undefined,
            'The rest waits as': one.BlockedEval ? <EvaluationLink id={one.BlockedEval} /> : undefined,
            ID: <code>{one.ID}</code>,
            History: <HistoryLink kind="eval" id={one.ID ?? ''} namespace={one.Namespace ?? ''} />,
          }}
        />
      </Card>
      <Waterfall title="Where the time went" evaluations={[one.ID ?? '']} />
    </>
  );
}

function Failures({ evaluation }: { readonly evaluation: Evaluation }) {
  const { JobID = '', Namespace = 'default', FailedTGAllocs = {} } = evaluation;
  const groups = Object.entries(FailedTGAllocs);
  const { data: job } = useQuery({ ...jobQuery({ id: JobID, namespace: Namespace }), enabled: groups.length > 0 });
  return groups.map(([group, metric]) => (
    <Problem
      key={group}
      title={`${counted(metric.CoalescedFailures + 1, 'allocation')} of group “${group}” found no place`}
      reasons={placementFailureInWords(
        metric,
        job?.TaskGroups.find(({ Name }) => Name === group),
      )}
    />
  ));
}
