import type { HostVolume } from '@waybill/model';
import type { Call } from '../command-spec.js';
import { Display } from '../terminal/display.js';
import { CommandFailure, failed } from '../failure.js';
import { hostVolumePath, type HostVolumeStub } from './host-volume-text.js';
import { LiveBlock } from '../terminal/live-block.js';
import { rfc3339 } from '../terminal/times.js';

/** Longest wait of one blocking read. */
const READ_WAIT = '5s';

/**
 * Follows a volume until its machine reports it (CL-708). Resolves with the exit code. @throws CommandFailure if the
 * volume no longer exists
 */
export async function untilReady(call: Call, { ID, Name, Namespace }: HostVolumeStub): Promise<number> {
  const { api, terminal, clock } = call;
  const shown = Display.of(call).id(ID);
  const live = terminal.options.interactive ? new LiveBlock(terminal, `Host volume "${shown}"`) : undefined;
  const say = (text: string): void => terminal.print(`==> ${rfc3339(clock.nowMs())}: ${text}`);
  if (live) live.show('');
  else say(`Monitoring volume "${shown}"...`);
  try {
    for (let index = 0; ;) {
      const query = index > 0 ? { index, wait: READ_WAIT } : {};
      const answer = await api
        .within({ namespace: Namespace })
        .get<HostVolume>(hostVolumePath(ID), query)
        .catch((error: unknown) => {
          throw failed('monitoring volume', error);
        });
      index = answer.index;
      const { State } = answer.value;
      if (State === 'pending') continue;
      if (live) live.finish(State, State === 'ready');
      else if (State === 'ready') say(`Volume "${Name}" ready`);
      if (State === 'ready') return 0;
      throw new CommandFailure(`Volume "${Name}" is ${State}`);
    }
  } finally {
    live?.stop();
  }
}
