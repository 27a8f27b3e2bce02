import { expect, it } from 'vitest';
import { LogContact } from './log-contact.js';

it('API-31, API-642: answers are as old as the connection to the log is lost, and know of no leader then', () => {
  const clock = { at: 1_000, nowMs: () => clock.at };
  const told: ((up: boolean) => void)[] = [];
  const connection = { up: true, onChange: (listener: (up: boolean) => void) => (told.push(listener), () => {}) };
  const turn = (up: boolean): void => {
    connection.up = up;
    for (const listener of told) listener(up);
  };
  const contact = new LogContact(connection, clock);
  clock.at += 500;
  expect(contact.age()).toEqual({ lastContactMs: 0, knownLeader: true });
  turn(false);
  clock.at += 700;
  turn(false); // said again, it was lost before
  expect(contact.age()).toEqual({ lastContactMs: 700, knownLeader: false });
  turn(true);
  expect(contact.age()).toEqual({ lastContactMs: 0, knownLeader: true });
});
