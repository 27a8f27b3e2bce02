import { describe, expect, it } from 'vitest';
import { Interrupts } from './interrupts.js';

describe('Ctrl-C', () => {
  it('ends whatever waits, and any number may wait without a warning', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error) => warnings.push(message);
    process.on('warning', onWarning);
    const interrupts = new Interrupts();
    let ended = 0;
    for (let n = 0; n < 100; n++) interrupts.signal.addEventListener('abort', () => ended++);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', onWarning);
    interrupts.press();
    expect([ended, warnings]).toEqual([100, []]);
  });

  it('belongs to who has taken it over, until that one ends the run', () => {
    const interrupts = new Interrupts();
    let pressed = 0;
    interrupts.takeOver(() => pressed++);
    interrupts.press();
    expect([pressed, interrupts.signal.aborted]).toEqual([1, false]);
    interrupts.abort();
    expect(interrupts.signal.aborted).toBe(true);
  });
});
