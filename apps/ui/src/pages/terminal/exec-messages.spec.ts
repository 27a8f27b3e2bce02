import { expect, it } from 'vitest';
import { commandWords, helloMessage, inputMessage, readExecMessage, sizeMessage } from './exec-messages.js';

it('AG-321: typed text goes as UTF-8 in base64', () => {
  expect(JSON.parse(inputMessage('é\r'))).toEqual({ stdin: { data: btoa('\u00c3\u00a9\r') } });
  expect(JSON.parse(sizeMessage(80, 24))).toEqual({ tty_size: { width: 80, height: 24 } });
  expect(JSON.parse(helloMessage('secret'))).toEqual({ version: 1, auth_token: 'secret' });
});

it('AG-322: output comes as bytes, and the end with its code', () => {
  expect(readExecMessage('{"stdout":{"data":"/2E="}}')).toEqual({ kind: 'output', bytes: new Uint8Array([255, 97]) });
  expect(readExecMessage('{"stderr":{"data":"YQ=="}}')).toEqual({ kind: 'output', bytes: new Uint8Array([97]) });
  expect(readExecMessage('{"exited":true,"result":{"exit_code":3}}')).toEqual({ kind: 'exited', code: 3 });
  expect(readExecMessage('{"stdout":{"close":true}}')).toEqual({ kind: 'nothing' });
});

it('a command line is split at spaces outside of quotes', () => {
  expect(commandWords(' /bin/sh -c "echo a b" \'c d\' ')).toEqual(['/bin/sh', '-c', 'echo a b', 'c d']);
  expect(commandWords('  ')).toEqual([]);
});
