import type { Deployment } from '@waybill/model';
import type { ApiClient } from '../server/api-client.js';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { EvaluationMonitor } from '../evaluations/evaluation-monitor.js';
import type { ExactJson } from '../terminal/exact-json.js';
import { failed } from '../failure.js';
import { resolveDeployment } from './resolve-deployment.js';

/** Response of the API to a write on a deployment. */
export interface DeploymentUpdate {
  readonly EvalID: string;
  readonly RevertedJobVersion: number | null;
}

/** One write on a deployment: its path, its body and its messages. */
export interface DeploymentChange {
  readonly path: 'fail' | 'pause' | 'promote' | 'unblock';
  /** Name of the step for an error, such as `pausing deployment`. */
  readonly doing: string;
  readonly body: (id: string) => ExactJson;
  /** Returns the message for success. Undefined for no message. */
  readonly done?: (id: string, update: DeploymentUpdate) => string;
}

/** Finds the deployment of the argument and changes it (CL-604). Resolves with the exit code. @throws CommandFailure */
export async function changeDeployment(call: Call, change: DeploymentChange): Promise<number> {
  const found = await resolveDeployment(call.api, call.args[0] ?? '', Display.of(call)).catch((error: unknown) => {
    throw failed('retrieving deployment', error);
  });
  return writeDeployment(call, found.value, change);
}

/** Writes the change, prints its message, and follows the evaluation. @throws CommandFailure */
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
