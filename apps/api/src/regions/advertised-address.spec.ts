import { expect, it } from 'vitest';
import { advertisedAddress, leadsNowhere } from './advertised-address.js';

const at = (WAYBILL_HTTP_HOST: string, WAYBILL_HTTP_ADVERTISE = '') => ({
  WAYBILL_HTTP_HOST,
  WAYBILL_HTTP_ADVERTISE,
  WAYBILL_HTTP_PORT: 4646,
});

it.each([
  [at('127.0.0.1'), '127.0.0.1:4646', false],
  [at('fd00::1'), '[fd00::1]:4646', false],
  [at('0.0.0.0'), '0.0.0.0:4646', true],
  [at('::'), '[::]:4646', true],
  [at('0.0.0.0', 'api.east:80'), 'api.east:80', false],
])('other regions are told to find the API of %j at %s; that leads nowhere: %s', (settings, address, nowhere) => {
  expect([advertisedAddress(settings), leadsNowhere(settings)]).toEqual([address, nowhere]);
  expect(URL.canParse(`http://${address}`)).toBe(true);
});
