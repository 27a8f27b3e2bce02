import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { METHOD_FLAGS, wholeMethod } from '../access/auth-method-flags.js';
import { type Method, printMethod } from '../access/auth-method-text.js';
import { failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** The command `acl auth-method create` (AU-295). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Creates an auth method, with which people or programs that have an account elsewhere can log in. Binding ' +
    'rules determine what they get.\n\nNeeds a management token.',
  flags: [
    { name: 'name', kind: 'text', value: 'name', help: 'Name of the auth method. It never changes.' },
    ...METHOD_FLAGS,
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  async run(call) {
    const method = await wholeMethod(call.flags);
    const answer = await call.api.put<Method>('/v1/acl/auth-method', method).catch((error: unknown) => {
      throw failed('creating ACL auth method', error);
    });
    printMethod(call, answer);
    return 0;
  },
};
