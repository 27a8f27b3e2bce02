import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { listeningPorts, readListeners } from './listeners.store.js';

const TABLE = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 00000000000000000000000001000000:FFFF 00000000000000000000000000000000:0000 0A 00000000:00000000 0 0 0 0 3
`;

describe('programs that listen', () => {
  it('NW-146: are those of listening sockets, by their port', () => {
    expect(listeningPorts(TABLE)).toEqual([80, 65_535]);
    expect(listeningPorts('')).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')(
    'NW-146: are found on this machine while they listen (needs /proc)',
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      expect([...(await readListeners())]).toContain(port);
      server.close();
      await once(server, 'close');
      expect([...(await readListeners())]).not.toContain(port);
    },
  );
});
