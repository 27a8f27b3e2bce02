import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiClient } from './api-client.js';
import type { Call, OfflineCall } from './command-spec.js';
import { connectionFrom, environmentOf } from './connection.js';
import type { ParsedFlags } from './parsed-flags.js';
import type { Surroundings } from './program.js';
import { Terminal } from './terminal.js';
import { startTrace } from './trace-context.js';

/** What a command needs that talks to a server: the client, the clock, waiting, asking. @throws CommandFailure */
export function serverCall(call: OfflineCall, { env, interrupt }: Surroundings): Call {
  const traceparent = startTrace(env['TRACEPARENT'], (bytes) => randomBytes(bytes).toString('hex'));
  return {
    ...call,
    api: new ApiClient(connectionFrom(call.flags, env), traceparent, interrupt),
    clock: { nowMs: () => Date.now() },
    sleep: (ms: number) => wait(ms, undefined, { signal: interrupt }),
    ask: async (question: string) => (await import('./question.js')).ask(question, interrupt),
    random: Math.random,
    interrupt,
  };
}

/** CL-132. */
export function terminalFor(flags: ParsedFlags, { env, stdout, stderr }: Surroundings): Terminal {
  const never =
    flags.on('no-color') || environmentOf(env, 'CLI_NO_COLOR') !== undefined || (env['NO_COLOR'] ?? '') !== '';
  const always = flags.on('force-color') || environmentOf(env, 'CLI_FORCE_COLOR') !== undefined;
  const isTTY = stdout.isTTY === true;
  return new Terminal(stdout, stderr, { colour: !never && (always || isTTY), interactive: isTTY });
}
