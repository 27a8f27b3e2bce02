// Messages of exec sessions.
import { ExecMessageError, inputOf, tokenOf } from '../../../apps/api/dist/client/exec/exec-messages.js';
import { declaring, timed } from '../harness.mjs';

export const fuzz = timed((data) => {
  const text = data.toString('utf8');
  declaring([ExecMessageError], () => inputOf(text));
  declaring([ExecMessageError], () => tokenOf(text));
});

export const seeds = () => [
  '{"stdin":{"data":"aGVsbG8=","close":false}}',
  '{"tty_size":{"height":24,"width":80}}',
  '{"version":1,"auth_token":"t"}',
  '{}',
];
