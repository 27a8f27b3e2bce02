import type { Call, ServerCommand } from '../command-spec.js';
import { deploymentBlock } from '../deployments/deployment-block.js';
import { DeploymentMonitor } from '../deployments/deployment-monitor.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { CommandFailure, failed } from '../failure.js';
import { resolveDeployment } from '../deployments/resolve-deployment.js';
import { shortId } from '../terminal/short-id.js';
import { rfc3339 } from '../terminal/times.js';
import { namespaceWord, watchable } from '../server/watch-on.js';
import { listDeployments } from './deployment-list.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';

/** Longest wait of one blocking read, unless -wait sets another (CL-211). */
const READ_WAIT_MS = 2_000;

/** Shows a deployment, monitors it under `-monitor`, or lists all deployments (CL-602, CL-603). */
export const command: ServerCommand = {
  usage: '[<deployment>]',
  description: 'Lists all deployments, or shows one with the progress of its groups.\n\nNeeds the capability read-job.',
  flags: [
    { name: 'exit-code', kind: 'switch', help: 'With -monitor: exit with 1 unless the deployment succeeds.' },
    { name: 'monitor', kind: 'switch', help: 'Watch until it ends.' },
    { name: 'wait', kind: 'duration', value: 'duration', help: 'With -monitor: interval between reads (default 2s).' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: { min: 0, max: 1, otherwise: 'This command takes either no arguments or one: <deployment>' },
  run,
};

async function run(call: Call): Promise<number> {
  const { api, args, flags, terminal } = call;
  if (flags.on('monitor') && call.data)
    throw new CommandFailure("The monitor flag cannot be used with the '-json' or '-t' flags");
  const [given] = args;
  if (given === undefined) return listDeployments(call);
  const display = Display.of(call);
  const answer = await resolveDeployment(api, given, display).catch((error: unknown) => {
    throw failed('retrieving deployment', error);
  });
  const { ID, JobID, Namespace } = answer.value;
  if (call.data) {
    call.data(answer.exact);
    return 0;
  }
  let exitCode = 0;
  if (flags.on('monitor')) {
    terminal.print(`${rfc3339(call.clock.nowMs())}: Monitoring deployment "${display.id(ID)}"`);
    const there = { ...call, api: api.within({ namespace: Namespace }) };
    const monitor = new DeploymentMonitor(there, '', flags.durationMs('wait') ?? READ_WAIT_MS);
    const again = () => `deployment status -monitor${namespaceWord(there.api)} ${shortId(ID)}`;
    const ended = await watchable(call, again, () => monitor.follow(ID));
    if (flags.on('exit-code') && ended !== 'successful') exitCode = 1;
  } else terminal.print(await deploymentBlock(api, answer.value, display, (text) => terminal.bold(text)));
  await webHint(call, 'View this deployment', `/jobs/${encodeURIComponent(JobID)}/deployments`);
  return exitCode;
}
