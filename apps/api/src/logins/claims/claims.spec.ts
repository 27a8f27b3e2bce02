import { describe, expect, it } from 'vitest';
import { MAX_CLAIM_DEPTH, readClaims } from './exact-json.js';
import { mapClaims } from './mapped-claims.js';
import { mergedClaims } from './merged-claims.js';

const values = (claims: string, ClaimMappings: Record<string, string>) =>
  mapClaims(readClaims(claims), { ClaimMappings, ListClaimMappings: null }).value;
const lists = (claims: string, ListClaimMappings: Record<string, string>) =>
  mapClaims(readClaims(claims), { ClaimMappings: null, ListClaimMappings }).list;

describe('claims as texts', () => {
  it('AU-41: a source is a name, or a pointer if it begins with a slash; one that leads nowhere gives nothing', () => {
    const claims =
      '{"team":"ops","a":{"b":["x","y"],"c/d":"slash","e~f":"tilde","":"empty"},"http://x/y":"url","n":null}';
    const found = values(claims, {
      team: 'team',
      '/a/b/1': 'second',
      '/a/c~1d': 'slash',
      '/a/e~0f': 'tilde',
      '/a/': 'empty',
      'http://x/y': 'url',
      '/a/b/2': 'behind',
      '/a/b/01': 'octal',
      '/team/x': 'below text',
      none: 'none',
      n: 'null',
      toString: 'inherited',
      '/__proto__/toString': 'prototype',
    });
    expect(found).toEqual({ team: 'ops', second: 'y', slash: 'slash', tilde: 'tilde', empty: 'empty', url: 'url' });
  });

  it.each([
    ['"as is "', 'as is '],
    ['true', 'true'],
    ['false', 'false'],
    ['3.9', '3'],
    ['-1.5', '-1'],
    ['-0.5', '0'],
    ['7', '7'],
    ['1e3', '1000'],
    ['9007199254740993', '9007199254740993'],
    ['-123456789012345678901234567890', '-123456789012345678901234567890'],
    ['["a",9007199254740993,{"b":null}]', '["a",9007199254740993,{"b":null}]'],
    ['[]', '[]'],
  ])('AU-42: %s is the text %s', (json, text) => {
    expect(values(`{"c":${json}}`, { c: 't' })).toEqual({ t: text });
  });

  it('AU-42: an object has no text, and the login fails', () => {
    expect(() => values('{"c":{}}', { c: 't' })).toThrow(
      "error converting claim 'c' to string from unknown type map[string]interface {}",
    );
  });

  it('AU-43: a list as it is, a single value as a list of one; empty texts are dropped', () => {
    expect(lists('{"c":["a","",1.5,true,9007199254740993]}', { c: 't' })).toEqual({
      t: ['a', '1', 'true', '9007199254740993'],
    });
    expect(lists('{"c":"a"}', { c: 't' })).toEqual({ t: ['a'] });
    expect(lists('{"c":false}', { c: 't' })).toEqual({ t: ['false'] });
    expect(lists('{"c":""}', { c: 't' })).toEqual({ t: [] });
    expect(lists('{}', { c: 't' })).toEqual({});
  });

  it('AU-43: an object, or an element without text, fails the login', () => {
    expect(() => lists('{"c":{}}', { c: 't' })).toThrow('"c" list claim could not be converted to string list');
    expect(() => lists('{"c":["a",null]}', { c: 't' })).toThrow(
      'value <nil> in "c" list claim could not be parsed as string',
    );
    expect(() => lists('{"c":[{"a":1}]}', { c: 't' })).toThrow('value {"a":1} in "c" list claim could not be parsed');
  });

  it('AU-44: of two sources with one target, that which sorts last bytewise wins, whatever the order they came in', () => {
    const claims = '{"a":"1","b":"2","Z":"3"}';
    expect(values(claims, { b: 't', a: 't', Z: 't' })).toEqual({ t: '2' });
    expect(values(claims, { Z: 't', a: 't', b: 't' })).toEqual({ t: '2' });
  });

  it('AU-45: user info overwrites member by member, but never issuer and subject', () => {
    const merged = mergedClaims(
      { iss: 'i', sub: 's', mail: 'old', team: 'ops' },
      { iss: 'x', sub: 'x', mail: 'new', groups: ['a'] },
    );
    expect(merged).toEqual({ iss: 'i', sub: 's', mail: 'new', team: 'ops', groups: ['a'] });
    expect(mergedClaims({ sub: 's' }, undefined)).toEqual({ sub: 's' });
  });
});

describe('claims that cannot be read', () => {
  it.each(['', '[]', '"a"', 'null', '{', '{"a":1}}', '{"a":1,"a":2}', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`])(
    '%s',
    (text) => {
      expect(() => readClaims(text)).toThrow('the claims are');
    },
  );

  it('nested a million times, they are an error and never the end of the stack', () => {
    expect(() => readClaims(`{"a":${'['.repeat(1_000_000)}`)).toThrow(`nested deeper than ${MAX_CLAIM_DEPTH} levels`);
    expect(readClaims(`{"a":"${'['.repeat(100)}"}`)).toEqual({ a: '['.repeat(100) });
  });

  it('a member named as a prototype is a claim like any other, and gives objects nothing', () => {
    const claims = readClaims('{"__proto__":{"admin":true},"sub":"s"}');
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
    expect(mapClaims(claims, { ClaimMappings: { admin: 'admin' }, ListClaimMappings: null }).value).toEqual({});
  });
});
