import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { CommandFailure } from '../failure.js';
import { KEYRING_PATH, keyringFailure, type RootKeyMeta, rootKeyTable, VERBOSE_KEYS } from '../operator/root-keys.js';

const NS_PER_MS = 1e6;

/** Creates a new root key (CL-809, OP-212). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Creates a new root key, which then encrypts variables and signs identities. Data encrypted or signed with ' +
    'the old key stays valid.\n\nNeeds the capability operator:keyring-rotate.',
  flags: [
    { name: 'full', kind: 'switch', help: 'Encrypt all variables anew with the new key, in the background.' },
    { name: 'now', kind: 'switch', help: 'Use the new key at once. Either -now or -prepublish must be given.' },
    {
      name: 'prepublish',
      kind: 'duration',
      value: 'duration',
      help: 'Publish the public key for this long before it is used, such as 1h.',
    },
    VERBOSE_KEYS,
  ],
  takes: NO_ARGUMENTS,
  withoutNamespace: true,
  async run({ api, flags, terminal, clock }) {
    const prepublishMs = flags.durationMs('prepublish') ?? 0;
    if (flags.on('now') === prepublishMs > 0) throw new CommandFailure(ONE_OF_BOTH);
    const query = {
      ...(flags.on('full') && { full: 'true' }),
      ...(prepublishMs > 0 && { publish_time: String((clock.nowMs() + prepublishMs) * NS_PER_MS) }),
    };
    const answer = await api
      .put<{ Key: RootKeyMeta }>(`${KEYRING_PATH}/rotate`, null, query)
      .catch((error: unknown) => {
        throw keyringFailure(error);
      });
    terminal.print(rootKeyTable([answer.value.Key], flags.on('verbose')));
    return 0;
  },
};

const ONE_OF_BOTH = `One of "-now" or "-prepublish" must be used.

Use "-now" if a key may be known to others: the new key is used at once.

Use "-prepublish <duration>" otherwise: whoever verifies identities sees the new public key before it is used.`;
