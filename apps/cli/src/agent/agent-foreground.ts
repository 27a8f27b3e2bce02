import { WAYBILL_VERSION } from '@waybill/model/version';
import type { Call } from '../command-spec.js';
import { causeOf, isInterrupt } from '../failure.js';
import type { ApiClient } from '../server/api-client.js';
import { logOfAgent } from './agent-log.js';
import { AgentProcess } from './agent-process.js';
import type { AgentStart } from './agent-start.js';

/** Milliseconds between two checks whether a starting part is up. */
const POLL_MS = 250;
/** Width of the column of names. */
const NAME_COLUMNS = 18;

/** Runs a part of the system until it ends or a signal stops it, and shows its log. Resolves with the exit code. */
export async function inForeground(call: Call, start: AgentStart, files: readonly string[]): Promise<number> {
  const { terminal, interrupts } = call;
  const loaded = files.length === 0 ? 'No configuration files loaded' : `Loaded configuration from ${files.join(', ')}`;
  terminal.print(`==> ${loaded}\n==> Waybill agent configuration:\n`);
  const shown = [...start.shown, ['Version', WAYBILL_VERSION] as const].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, value] of shown) terminal.print(`${name.padStart(NAME_COLUMNS)}: ${value}`);
  terminal.print('');
  const child = AgentProcess.start(start, call.env);
  const stop = (): void => child.stop();
  interrupts.takeOver(stop);
  process.on('SIGTERM', stop);
  try {
    const following = followLog(call, start, child).catch((error: unknown) => {
      if (!isInterrupt(error) && !child.isStopping) terminal.error(causeOf(error));
    });
    const code = await child.ended;
    interrupts.abort(); // nothing is left to follow
    await following;
    return code;
  } finally {
    process.off('SIGTERM', stop);
  }
}

const STARTED = '==> Waybill agent started! Log data will stream in below:\n';

async function followLog(call: Call, { address, logLevel, logJson }: AgentStart, child: AgentProcess): Promise<void> {
  const { terminal } = call;
  if (address === null) {
    terminal.print(STARTED);
    for await (const lines of child.log ?? []) await terminal.bytes(lines);
    return;
  }
  const api = call.api.at(address);
  while (!(await isUp(api))) await call.sleep(POLL_MS);
  terminal.print(STARTED);
  const query = { log_level: logLevel, log_json: logJson || undefined };
  for await (const lines of logOfAgent(api, query)) await terminal.bytes(lines);
}

async function isUp(api: ApiClient): Promise<boolean> {
  try {
    await api.get('/v1/agent/health');
    return true;
  } catch (error) {
    if (isInterrupt(error)) throw error;
    return false;
  }
}
