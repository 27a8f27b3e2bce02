import type { Deployment } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { failed } from '../failure.js';
import { resolveDeployment } from './resolve-deployment.js';

/** What the API answers to a write on a deployment. */
export interface DeploymentUpdate {
  readonly EvalID: string;
  readonly RevertedJobVersion: number | null;
}

/** One write on a deployment: which, with what, and how it is spoken of. */
export interface DeploymentChange {
  readonly path: 'fail' | 'pause' | 'promote' | 'unblock';
  /** `pausing deployment`: what failed when it fails. */
  readonly doing: string;
  readonly body: (id: string) => ExactJson;
  /** Printed when it is done; undefined: nothing is. */
  readonly done?: (id: string, update: DeploymentUpdate) => string;
}

/** Finds the deployment of the argument and changes it (CL-604). Resolves with the exit code. @throws CommandFailure */
export async function changeDeployment(call: Call, change: DeploymentChange): Promise<number> {
  const found = await resolveDeployment(call.api, call.args[0] ?? '', Display.of(call)).catch((error: unknown) => {
    throw failed('retrieving deployment', error);
  });
  return writeDeployment(call, found.value, change);
}

/** The write, its text, and what the scheduler makes of it. @throws CommandFailure */
export async function writeDeployment(
  call: Call,
  { ID, Namespace }: Pick<Deployment, 'ID' | 'Namespace'>,
  { path, body, doing, done }: DeploymentChange,
): Promise<number> {
  const { flags, terminal } = call;
  const api: ApiClient = call.api.within({ namespace: Namespace });
  const { value } = await api
    .put<DeploymentUpdate>(`/v1/deployment/${path}/${ID}`, body(ID))
    .catch((error: unknown) => {
      throw failed(doing, error);
    });
  if (done) terminal.print(done(ID, value));
  if (value.EvalID === '') return 0;
  if (flags.on('detach')) {
    terminal.print(`Evaluation ID: ${value.EvalID}`);
    return 0;
  }
  if (done) terminal.print('');
  return new EvaluationMonitor({ ...call, api }).follow(value.EvalID);
}
