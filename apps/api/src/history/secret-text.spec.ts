import { describe, expect, it } from 'vitest';
import { REDACTED, SecretText } from './secret-text.js';

const SECRET = 'pa"ss\\wörd\n1';
const secret = new SecretText(SECRET);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a secret in texts', () => {
  it('ST-185: it is replaced as it is, escaped, and inside of base64', () => {
    const hcl = `env { PASSWORD = ${JSON.stringify(SECRET)} }`;
    expect(secret.text(`--password=${SECRET}!`)).toBe(`--password=${REDACTED}!`);
    expect(secret.text(hcl)).toBe(`env { PASSWORD = "${REDACTED}" }`);
    expect(secret.text(base64(`user:${SECRET}`))).toBe(base64(`user:${REDACTED}`));
    expect(secret.text('nothing')).toBe('nothing');
    const payload = JSON.stringify({ password: SECRET });
    expect(secret.text(base64(payload))).toBe(base64(`{"password":"${REDACTED}"}`));
    const binary = Buffer.concat([Buffer.from([0xff, 0x80, 0x00]), Buffer.from(SECRET), Buffer.from([0xfe])]);
    const redacted = Buffer.concat([Buffer.from([0xff, 0x80, 0x00]), Buffer.from(REDACTED), Buffer.from([0xfe])]);
    expect(secret.text(binary.toString('base64'))).toBe(redacted.toString('base64'));
    // The secret is a part of its own escaped form.
    expect(new SecretText('\\abcdef').text('"\\\\abcdef"')).toBe(`"${REDACTED}"`);
  });

  it('ST-185: a stored row that contains it contains one of the needles, at each position of base64', () => {
    const rows = [
      { Env: { PASSWORD: SECRET } },
      { Source: `env { PASSWORD = ${JSON.stringify(SECRET)} }` },
      ...['', 'a', 'ab', 'abc'].flatMap((before) => [
        { Payload: base64(`${before}${SECRET}${before}`) },
        { Payload: base64(`${before}${JSON.stringify(SECRET)}`) },
      ]),
    ];
    for (const row of rows) {
      const text = JSON.stringify(row);
      expect(
        secret.needles.some((needle) => text.includes(needle)),
        text,
      ).toBe(true);
      const blank = JSON.stringify(secret.json(row));
      expect(
        secret.needles.some((needle) => blank.includes(needle)),
        blank,
      ).toBe(false);
    }
  });

  it('ST-185: places are paths; names of objects and of members are told apart', () => {
    const row = {
      ID: SECRET,
      Tasks: [{ Name: 'web', Env: { [SECRET]: 'x', A: `${SECRET}${SECRET}` } }],
      Payload: null,
    };
    expect(secret.places(row)).toEqual({
      texts: [{ Path: ['Tasks', 0, 'Env', 'A'], Text: REDACTED + REDACTED }],
      names: ['', 'Tasks.0.Env'],
    });
    expect(secret.json(row)).toEqual({
      ...row,
      Tasks: [{ Name: 'web', Env: { [SECRET]: 'x', A: REDACTED + REDACTED } }],
    });
  });

  it('ST-185: short, empty and unstorable values are refused', () => {
    for (const value of ['', 'short', '        ', 'redacted', 'secret\u0000secret', 'x'.repeat(16_385), 'secret\ud800'])
      expect(() => new SecretText(value), JSON.stringify(value)).toThrow(/value/);
  });
});
