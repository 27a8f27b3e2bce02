import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

interface Rekeyed {
  readonly Tokens: number;
  readonly AuthMethods: number;
  readonly Unreadable: number;
}

/** Stores all secrets of access control under the present key of the servers. */
export const command: ServerCommand = {
  usage: '',
  description:
    'Stores the secrets of all tokens and auth methods under the present key of the servers (WAYBILL_ACL_KEY_FILE), ' +
    'if they are stored under the other one (WAYBILL_ACL_OTHER_KEY_FILE). Tokens stay valid. It may be repeated.\n\n' +
    'Needs a management token.',
  flags: [...DATA_FLAGS],
  takes: NO_ARGUMENTS,
  async run({ api, data, terminal }) {
    const { value, exact } = await api.put<Rekeyed>('/v1/waybill/acl/rekey', {}).catch((error: unknown) => {
      throw failed('changing the key of access control', error);
    });
    if (data) {
      data(exact);
      return 0;
    }
    terminal.print(`Stored under the present key: ${value.Tokens} tokens, ${value.AuthMethods} auth methods`);
    if (value.Unreadable === 0) return 0;
    terminal.warn(`${value.Unreadable} tokens or auth methods are stored under a third key, or damaged`);
    return 1;
  },
};
