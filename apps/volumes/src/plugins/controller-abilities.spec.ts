import type { CSIPlugin } from '@waybill/model';
import { fixtures } from '@waybill/state';
import { expect, it } from 'vitest';
import { controllerCan, controllersLastCould } from './controller-abilities.js';

const able = fixtures.aControllerPlugin();
const unable = { ...able, ControllerInfo: { ...able.ControllerInfo!, SupportsAttachDetach: false } };

it('a plugin can do what any of its controllers says', () => {
  const can = (...controllers: (typeof able)[]): boolean => {
    const Controllers = Object.fromEntries(controllers.map((one, n) => [`${n}`, one]));
    return controllerCan({ ...fixtures.aCSIPlugin(), Controllers } as CSIPlugin, 'SupportsAttachDetach');
  };
  expect([can(), can(unable), can(able), can(unable, able), can(able, unable)]).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
  expect(can({ ...able, ControllerInfo: undefined })).toBe(false);
});

it('VL-187: of a plugin whose machines are down, what they said last counts; nothing is known if none ever said it', () => {
  const could = (...controllers: (typeof able)[]): boolean | undefined => {
    const { tables } = fixtures.aMachine();
    for (const plugin of controllers) {
      const node = fixtures.aNode({ CSIControllerPlugins: { disks: plugin } });
      tables.nodes.replace(node.ID, node);
    }
    return controllersLastCould(tables, 'disks', 'SupportsAttachDetach');
  };
  expect([could(), could(unable), could(unable, able), could(able, unable)]).toEqual([undefined, false, true, true]);
});
