import { text } from 'node:stream/consumers';
import { encodeJoinToken, type Join } from './join-token.js';

/**
 * This program makes a token of `waybill agent join` for `waybill node intro create -nats`. Its parts come as JSON on stdin,
 * where other users of the computer cannot see them.
 */
process.stdout.write(`${encodeJoinToken(JSON.parse(await text(process.stdin)) as Join)}\n`);
