import type { CommandSpec } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import type { Refusal } from '../refusals.js';

/** A command of Nomad without a function here. It prints the reason (CL-809, CL-844, CL-936). */
export function refusedCommand(refusal: Refusal): CommandSpec {
  const { text, path } = refusal;
  const face = {
    usage: '[<argument>…]',
    description: `Does nothing here: ${text}.`,
    flags: [],
    takes: { min: 0, max: Number.POSITIVE_INFINITY, otherwise: '' },
    ignoresFlags: true,
  } as const;
  if (path === undefined) return { ...face, offline: true, run: () => Promise.reject(refused(text)) };
  return {
    ...face,
    async run({ api }) {
      await api.get(path).catch((error: unknown) => {
        throw failed(refusal.doing, error);
      });
      throw refused(text);
    },
  };
}

const refused = (text: string): CommandFailure =>
  new CommandFailure(text.replace(/^./, (first) => first.toUpperCase()));
