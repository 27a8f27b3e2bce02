import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { KEYRING_PATH, keyringFailure, type RootKeyMeta, rootKeyTable, VERBOSE_KEYS } from '../operator/root-keys.js';

/** Lists root keys without secret parts (CL-809, OP-211). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists the root keys without their secret parts.\n\nNeeds the capability operator:keyring-read.',
  flags: [VERBOSE_KEYS],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api, flags, terminal }) {
    const { value } = await api.get<RootKeyMeta[] | null>(`${KEYRING_PATH}/keys`).catch((error: unknown) => {
      throw keyringFailure(error);
    });
    terminal.print(rootKeyTable(value ?? [], flags.on('verbose')));
    return 0;
  },
};
