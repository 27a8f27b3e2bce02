import { newIssuerKey, newUserKey } from '@waybill/journal';
import { serviceUser } from '@waybill/rpc';
import { keyedServiceUser } from '@waybill/service';
import { describe, expect, it } from 'vitest';
import { accountsText } from './nats-accounts.mjs';

const key = (): string => newUserKey().publicKey;
const issuer = { issuer: newIssuerKey().publicKey };

describe('the configuration of NATS', () => {
  it('AU-264: has the keys of those who may answer beside the issuer', () => {
    const [nodes, broker, all] = [key(), key(), key()];
    const users = [keyedServiceUser('nodes', nodes), keyedServiceUser('broker', broker), serviceUser(all)];
    const text = accountsText([...users, issuer]);
    const authorization = text.slice(text.indexOf('authorization:'));
    expect([nodes, broker, all].filter((one) => authorization.includes(one))).toEqual([nodes, all]);
  });

  it('AU-264: is refused if nobody may answer for the issuer', () => {
    const broker = keyedServiceUser('broker', key());
    const ofBefore = { nkey: key(), permissions: { publish: { allow: [] }, subscribe: { allow: ['rpc.nodes.>'] } } };
    expect(() => accountsText([broker, issuer])).toThrow('no line of nodes');
    expect(() => accountsText([broker, ofBefore, issuer])).toThrow('no line of nodes');
  });

  it('AU-264: is refused with two issuers', () => {
    const lines = [serviceUser(key()), issuer, { issuer: newIssuerKey().publicKey }];
    expect(() => accountsText(lines)).toThrow('2 lines of an issuer');
  });
});
