import { errorText, Refusal } from '@waybill/model';
import type { ExecStartRequest } from '@waybill/rpc';
import type { Agent } from '../../agent.js';
import { type ExecSession, NoExecError } from './exec-session.js';

export interface BeginExecOptions {
  readonly agent: Pick<Agent, 'runnerOf'>;
  /** Whether this machine allows commands in its tasks (AG-325). */
  readonly enabled: boolean;
}

/** Begins a command in a task, or refuses it with the messages of the contract (AG-324). @throws Refusal */
export async function beginExec({ agent, enabled }: BeginExecOptions, request: ExecStartRequest): Promise<ExecSession> {
  if (!enabled) throw new Refusal('forbidden', 'Permission denied');
  const runner = agent.runnerOf(request.AllocID);
  if (!runner) throw new Refusal('not-found', `Unknown allocation "${request.AllocID}"`);
  if (request.Task === '') throw new Refusal('invalid', 'must provide task name');
  const [file, ...args] = request.Command;
  if (file === undefined || file === '') throw new Refusal('invalid', 'command is not present');
  try {
    return await runner.exec(request.Task, { command: [file, ...args], tty: request.Tty });
  } catch (error) {
    if (error instanceof Refusal || error instanceof NoExecError) throw new Refusal('invalid', error.message);
    throw new Refusal('internal', errorText(error));
  }
}
