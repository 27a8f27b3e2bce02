import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { jobDeploymentsQuery, jobEvaluationsQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Empty } from '../../components/page.js';
import { Rows } from '../../components/rows.js';
import { DEPLOYMENT_COLUMNS_OF_JOB } from '../deployments/deployment-columns.js';
import { EVALUATION_COLUMNS_OF_JOB } from '../evaluations/evaluation-columns.js';
import { readObjectAddress } from '../../app/object-address.js';

const evaluationsRoute = getRouteApi('/jobs/$job/evaluations');
const deploymentsRoute = getRouteApi('/jobs/$job/deployments');

/** When a scheduler looked at the job, why, and what came of it. */
export function JobEvaluationsPage() {
  const evaluations = useQuery(jobEvaluationsQuery(readObjectAddress(evaluationsRoute.useParams().job)));
  return (
    <Answer of={evaluations}>
      {(rows) => (
        <Rows
          label="Evaluations"
          columns={EVALUATION_COLUMNS_OF_JOB}
          rows={rows.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
          keyOf={({ ID }) => ID}
        />
      )}
    </Answer>
  );
}

/** The rollouts of the job's versions. */
export function JobDeploymentsPage() {
  const deployments = useQuery(jobDeploymentsQuery(readObjectAddress(deploymentsRoute.useParams().job)));
  return (
    <Answer of={deployments}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title="No deployments">
            <p>Only services with an update block are rolled out step by step.</p>
          </Empty>
        ) : (
          <Rows
            label="Deployments"
            columns={DEPLOYMENT_COLUMNS_OF_JOB}
            rows={rows.toSorted((a, b) => b.CreateIndex - a.CreateIndex)}
            keyOf={({ ID }) => ID}
          />
        )
      }
    </Answer>
  );
}
