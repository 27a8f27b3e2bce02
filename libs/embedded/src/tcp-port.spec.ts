import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { PortTakenError } from './failures.js';
import { assertPortFree, freePort } from './tcp-port.js';

it('tells a taken port from a free one and says what it is for', async () => {
  const port = await freePort();
  await assertPortFree(port, 'the API');
  const server = createServer().listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  try {
    await expect(assertPortFree(port, 'the API')).rejects.toEqual(new PortTakenError(port, 'the API'));
  } finally {
    server.close();
  }
});

it('gives ports that no outgoing connection and no task is given', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, freePort));
  expect(ports.filter((port) => port < 10_000 || port >= 20_000)).toEqual([]);
});
