import type { ProcessIO } from '../process-io.js';
import { randomBytes } from 'node:crypto';
import { ApiClient } from './api-client.js';
import type { Call, CommandSpec, OfflineCall } from '../command-spec.js';
import { connectionFrom, environmentOf } from './connection.js';
import { dataPrinter } from '../terminal/data-printer.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { sleep } from './sleep.js';
import { Terminal } from '../terminal/terminal.js';
import { startTrace } from './trace-context.js';

/** Builds the call for a command that talks to a server: client, clock, sleep and questions. @throws CommandFailure */
export async function serverCall(
  spec: CommandSpec,
  call: OfflineCall,
  { env, stdinIsTTY = false, interrupts }: ProcessIO,
): Promise<Call> {
  const interrupt = interrupts.signal;
  const untilEither = (signal?: AbortSignal) => (signal ? AbortSignal.any([signal, interrupt]) : interrupt);
  const traceparent = startTrace(env['TRACEPARENT'], (bytes) => randomBytes(bytes).toString('hex'));
  return {
    ...call,
    data: await dataPrinter(spec.flags, call.flags, call.terminal),
    api: new ApiClient(connectionFrom(call.flags, env), traceparent, interrupt),
    env,
    clock: { nowMs: () => Date.now() },
    sleep: (ms, signal) => sleep(ms, untilEither(signal)),
    ask: async (question, signal) =>
      (await import('../terminal/question.js')).askOnTerminal(question, untilEither(signal)),
    canAsk: stdinIsTTY && call.terminal.options.interactive,
    random: Math.random,
    interrupt,
    interrupts,
  };
}

/** Enables colour on a terminal or under `-force-color`, never under `-no-color` (CL-132). */
export function terminalFor(flags: ParsedFlags, { env, stdout, stderr }: ProcessIO): Terminal {
  const never =
    flags.on('no-color') || environmentOf(env, 'CLI_NO_COLOR') !== undefined || (env['NO_COLOR'] ?? '') !== '';
  const always = flags.on('force-color') || environmentOf(env, 'CLI_FORCE_COLOR') !== undefined;
  const isTTY = stdout.isTTY === true;
  return new Terminal(stdout, stderr, { colour: !never && (always || isTTY), interactive: isTTY });
}
