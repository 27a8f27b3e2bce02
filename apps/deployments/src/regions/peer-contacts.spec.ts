import { regionRollout } from '@waybill/rpc';
import { expect, it } from 'vitest';
import { PeerContacts } from './peer-contacts.js';

it('DP-1134, DP-1308: one that stood still for longer than its lease asks no other region when it wakes', async () => {
  let lasts = true;
  const asked: string[] = [];
  const regions = { own: 'west', askRegion: async (region: string) => void asked.push(region) };
  const contacts = new PeerContacts(regions as never, { isCurrent: () => lasts });
  const ask = () => contacts.callPeer('east', regionRollout, { Namespace: 'default', JobID: 'web', JobVersion: 0 });
  await ask();
  lasts = false;
  await expect(ask()).rejects.toThrow('deployment watcher not enabled');
  expect(asked).toEqual(['east']);
  expect(contacts.of('east')).toEqual({ calls: 1, errors: 0 });
});
