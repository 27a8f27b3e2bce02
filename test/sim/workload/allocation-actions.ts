import { restartAlloc, signalAlloc } from '@waybill/rpc';
import type { Actions } from './action.js';
import { chosenAllocation } from './chosen.js';

export const ALLOCATION_ACTIONS: Actions = {
  'stop allocation': [
    8,
    (api, cluster, random) => {
      const alloc = chosenAllocation(cluster, random);
      return alloc && api.stop(alloc.ID, { reschedule: random.chance(0.3) });
    },
  ],
  'restart allocation': [
    5,
    (api, cluster, random) => {
      const alloc = chosenAllocation(cluster, random);
      const request = { AllocID: alloc?.ID ?? '', TaskName: '', AllTasks: random.chance(0.3) };
      return alloc && api.ask(restartAlloc, request, { target: alloc.NodeID });
    },
  ],
  'signal allocation': [
    3,
    (api, cluster, random) => {
      const alloc = chosenAllocation(cluster, random);
      const Signal = random.pick(['SIGHUP', 'SIGKILL']);
      return alloc && api.ask(signalAlloc, { AllocID: alloc.ID, Task: '', Signal }, { target: alloc.NodeID });
    },
  ],
};
