import { compareSync } from 'bcryptjs';
import { describe, expect, it } from 'vitest';
import { parseJob } from '../parse-job.js';
import { JobspecError } from '../syntax/diagnostic.js';

const parsed = (text: string) => JSON.parse(JSON.stringify(parseJob({ file: { name: 'input.hcl', text } }).job));

/** The JSON of an expression, from a place that takes every type. */
const json = (expression: string, before = '') =>
  parsed(`${before}\njob "x" {\n task "t" {\n config {\n a = ${expression}\n }\n }\n}\n`).TaskGroups[0].Tasks[0].Config
    .a;

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof JobspecError) return error.message;
    throw error;
  }
  return 'no error';
}
const wrong = (expression: string, before = '') => refusal(() => json(expression, before));

describe('expressions', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['-2 - -3', 1],
    ['!true || true', true],
    ['1 < 2 == true', true],
    ['false ? 1 : true ? 2 : 3', 2],
  ])('JS-30: %s is %j', (expression, value) => expect(json(expression)).toEqual(value));

  it('JS-20: one interpolation keeps its type, other templates are strings', () => {
    expect(json('"${1 + 1}"')).toBe(2);
    expect(json('"n=${1.50} ${true}"')).toBe('n=1.5 true');
    expect(wrong('"x${null}"')).toContain(
      'Invalid template interpolation value; The expression result is null. Cannot include a null value in a string template.',
    );
    expect(wrong('"x${[1]}"')).toContain(
      'Cannot include the given value in a string template: string required, but have tuple.',
    );
  });

  it('JS-23: directives', () => {
    expect(json('"%{ for k, v in { b = 2, a = 1 } }${k}${v};%{ endfor }"')).toBe('a1;b2;');
    expect(json('"%{ if 1 > 2 }yes%{ else }no%{ endif }"')).toBe('no');
  });

  it('JS-24: a tilde eats the white space next to it', () => {
    expect(json('"a  ${~ 1 ~}  b"')).toBe('a1b');
    expect(json('<<E\n%{ for x in [1, 2] ~}\n  ${x}\n%{ endfor ~}\nend\nE\n')).toBe('  1\n  2\nend\n');
  });

  it('JS-24, JS-22: in a heredoc it acts line by line, before the indentation is taken away', () => {
    expect(json('<<E\nx\n  ${~ 1 ~}\ny\nE\n')).toBe('x\n1y\n');
    expect(json('<<E\nx\n${~ 1 }\ny\nE\n')).toBe('x1\ny\n');
    expect(json('<<-E\n    x\n      ${~ 1 ~}\n    y\n  E\n')).toBe('    x\n1    y\n');
    expect(json('<<-E\n    %{ if true ~}\n      y\n    %{ endif ~}\n    z\n  E\n')).toBe('      y\n    z\n');
  });

  it('JS-31: literals, with commas and newlines where they may be', () => {
    expect(json('[1, "a", true, null,]')).toEqual([1, 'a', true, null]);
    expect(json('[{ k = 1, l : 2, }, {\n m = 3\n n = 4\n}]')).toEqual([
      { k: 1, l: 2 },
      { m: 3, n: 4 },
    ]);
  });

  it('JS-238: a percent and a brace of a foreign text are written with two percents', () => {
    expect(json('"%%{http_code}"')).toBe('%{http_code}');
    expect(wrong('"%{http_code}"')).not.toBe('no error');
  });

  it('JS-32: keys of all kinds, of equal ones the later', () => {
    expect(json('[{ a = 1, "b c" : 2, (lower("D")) = 3, 4 = 4, true = 5, a = 6 }]')).toEqual([
      { a: 6, 'b c': 2, d: 3, 4: 4, true: 5 },
    ]);
  });

  it('JS-33: numeric strings are numbers; both sides of && count', () => {
    expect(json('"1" + "2"')).toBe(3);
    expect(json('"true" && true')).toBe(true);
    expect(wrong('"a" + "b"')).toContain('Invalid operand; Unsuitable value for left operand: a number is required.');
    expect(wrong('false && var.nope')).toContain('Unsupported attribute');
    expect(json('true ? 1 : var.nope')).toBe(1);
  });

  it('JS-34: equality compares types; the remainder has the sign of the dividend', () => {
    expect(json('[1 == "1", [1] == [1], {a=1} == {a=1}, 1 == 1.0]')).toEqual([false, true, true, true]);
    expect(json('-7 % 3')).toBe(-1);
  });

  it('JS-35: numbers are exact decimals', () => {
    expect(json('0.1 + 0.2')).toBe(0.3);
    expect(json('"${100000000000000000000}!"')).toBe('100000000000000000000!');
    expect(json('"${1 / 3}!"')).toMatch(/^0\.3{100,150}!$/u);
    expect(wrong('1 / 0')).toContain('infinite');
    expect(wrong('-1e400')).toContain('a number as large as this cannot be written as JSON');
    expect(wrong('jsonencode([1 / 0])')).toContain('an infinite number cannot be written as JSON');
  });

  it('JS-36: the branches of a condition have one type', () => {
    expect(json('true ? 1 : "b"')).toBe('1');
    expect(wrong('true ? 1 : [2]')).toContain(
      "Inconsistent conditional result types; The true and false result expressions must have consistent types. The 'true' value is number, but the 'false' value is tuple.",
    );
  });

  it('JS-37: for', () => {
    expect(json('[for i, v in ["a", "b", "c"] : "${i}${v}" if v != "b"]')).toEqual(['0a', '2c']);
    expect(json('[for k, v in { b = 2, a = 1 } : "${k}${v}"]')).toEqual(['a1', 'b2']);
    expect(json('[{ for s in ["ab", "ac", "b"] : substr(s, 0, 1) => s... }]')).toEqual([{ a: ['ab', 'ac'], b: ['b'] }]);
    expect(json('[for node in ["x"] : "${node}-${attr.a}"]')).toEqual(['x-${attr.a}']);
    expect(wrong('{ for s in ["a", "a"] : s => 1 }')).toContain(
      `Duplicate object key; Two different items produced the key "a" in this 'for' expression.`,
    );
  });

  it('JS-38: splats', () => {
    expect(json('[{ a = 1 }, { a = 2 }][*].a')).toEqual([1, 2]);
    expect(json('[{ a = { b = 1 } }].*.a.b')).toEqual([1]);
    expect(json('[for x in [5][*] : x]')).toEqual([5]);
    expect(json('null[*]')).toEqual([]);
  });

  it('JS-39: calls', () => {
    expect(json('max([1, 3, 2]...)')).toBe(3);
    expect(wrong('uper("a")')).toContain(
      'Call to unknown function; There is no function named "uper". Did you mean "upper"?',
    );
    expect(wrong('upper()')).toContain(
      'Not enough function arguments; Function "upper" expects 1 argument(s). Missing value for "str".',
    );
    expect(wrong('upper("a", "b")')).toContain(
      'Too many function arguments; Function "upper" expects only 1 argument(s).',
    );
    expect(wrong('upper([])')).toContain(
      'Invalid function argument; Invalid value for "str" parameter: string required, but have tuple.',
    );
    expect(wrong('parseint("x", 10)')).toContain(
      'Error in function call; Call to function "parseint" failed: cannot parse "x"',
    );
  });

  it('JS-40: steps that lead nowhere', () => {
    expect(wrong('{ a = 1 }.nope')).toContain(
      'Unsupported attribute; This object does not have an attribute named "nope".',
    );
    expect(wrong('"s".a')).toContain(
      "Unsupported attribute; Can't access attributes on a primitive-typed value (string).",
    );
    expect(wrong('[1][1]')).toContain(
      'Invalid index; The given key does not identify an element in this collection value.',
    );
    expect(wrong('null.a')).toContain('Attempt to get attribute from null value');
  });
});

describe('runtime references', () => {
  it.each([
    '${attr.a.b.0}',
    '${mixed-indexing.0[3]["FOO"].5}',
    '${meta.a-b}',
    '${   root.  field[  "FOO"].5  }',
    '${env["X"]}',
    '${node.uniqe.name}',
  ])('JS-60 JS-61: %s comes out as it was written', (text) => {
    expect(json(`"${text}"`)).toBe(text);
    expect(json(`"<${text}>"`)).toBe(`<${text}>`);
  });

  it('JS-62: bare ones too', () => expect(json('meta.rack')).toBe('${meta.rack}'));

  it('JS-63: they are strings for everything else', () => {
    expect(json('lower(NOMAD_X)')).toBe('${nomad_x}');
    expect(json('replace("${NOMAD_IP}", ".", "-")')).toBe('${NOMAD_IP}');
    expect(json('"${NOMAD_X == "a" ? 1 : 2}"')).toBe(2);
    expect(json('[try(a.b, "d"), can(a.b)]')).toEqual(['${a.b}', true]);
    expect(wrong('NOMAD_X + 1')).toContain('a number is required');
    expect(wrong('"${BAR[x]}"')).not.toBe('no error');
  });

  it('JS-64: unknown functions are errors, foreign templates are text', () => {
    expect(wrong('"${env("X")}"')).toContain('Call to unknown function');
    expect(json('"{{ env \\"X\\" }} $${HOME}"')).toBe('{{ env "X" }} ${HOME}');
  });

  it('JS-65: a brace behind one stays one brace', () => {
    expect(json('"${A}}"')).toBe('${A}}');
    expect(json('"{ ${A} }"')).toBe('{ ${A} }');
  });
});

describe('functions', () => {
  it.each([
    ['element(["a","b"],3)', 'b'],
    ['substr("hello",-3,-1)', 'llo'],
    ['sort([3,1,20])', ['1', '20', '3']],
    ['uuidv5("dns","example.com")', 'cfbff0d1-9375-5685-968c-48ce8b15ae17'],
    [
      'setproduct(["a"],[1,2])',
      [
        ['a', 1],
        ['a', 2],
      ],
    ],
    ['regex_replace("a1b2","([a-z])([0-9])","$2$1")', '1a2b'],
    ['strlen("héé")', 3],
    ['format("%05.2f",1.5)', '01.50'],
    ['urlencode("a b&c/d")', 'a+b%26c%2Fd'],
    ['cidrsubnet("10.0.0.0/8",8,2)', '10.2.0.0/16'],
    ['formatdate("YYYY-MM-DD\'T\'hh:mm:ssZ", "2026-01-02T03:04:05Z")', '2026-01-02T03:04:05Z'],
  ])('JS-92: %s', (expression, value) => expect(json(expression)).toEqual(value));

  it.each([
    ['merge({ a = 1 }, null, { a = 2, b = 3 }) == { a = 2, b = 3 }', true],
    ['coalesce(null, "", "x")', ''],
    ['flatten([[1, [2]], 3])', [1, 2, 3]],
    ['range(3, 0)', [3, 2, 1]],
    ['jsonencode({ b = "<a>", a = [1, null] })', '{"a":[1,null],"b":"\\u003ca\\u003e"}'],
    ['jsondecode("{\\"a\\":[1,true]}").a[0]', 1],
    ['lookup({ a = 1 }, "b", 2)', 2],
    ['zipmap(["a"], [1]).a', 1],
    ['title("hello world")', 'Hello World'],
    ['trim("xxaxx", "x")', 'a'],
    ['format("%s-%d-%q-%v", "a", 3, "b", [1])', 'a-3-"b"-[1]'],
    [
      'format("%X %#x %#v %E % d %+.1f|%-4d|%3d%%", 255, 10, "a", 1.5, 3, 2, 7, 50)',
      'FF 0xa "a" 1.500000E+00  3 +2.0|7   | 50%',
    ],
    ['format("%[2]s %[1]s %s", "a", "b")', 'b a b'],
    ['regex_replace("Hello", "(?i)h(?P<rest>[[:alpha:]]+)\\\\z", "${rest}$$1x")'.replace('${', '$${'), 'ello$1x'],
    ['parseint("Zz", 62) + parseint("zZ", 36)', 61 * 62 + 35 + 35 * 36 + 35],
    ['compact(["a", "", null])', ['a']],
    ['base64decode(base64encode("é"))', 'é'],
    ['convert("5", number) + 1', 6],
    [
      'yamlencode({ b = [1, "x", []], a = { n = null, t = true }, text = "one\\ntwo\\n" })',
      '"a":\n  "n": null\n  "t": true\n"b":\n- 1\n- "x"\n- []\n"text": |\n  one\n  two\n',
    ],
    [
      'yamldecode("a: &x [1, 2.5, yes, ~]\\nb: *x\\nc: 12345678901234567890\\n")',
      { a: [1, 2.5, true, null], b: [1, 2.5, true, null], c: 12345678901234567000 },
    ],
    ['yamldecode("a: 12345678901234567890").a == 12345678901234567890', true],
    ['chunklist([1, 2, 3], 2)', [[1, 2], [3]]],
    ['parseint("ff", 16) + pow(2, 3) + ceil(1.2) + floor(-1.2) + signum(-3)', 262],
    ['csvdecode("a,b\\n1,\\"x,y\\"\\n")[0].b', 'x,y'],
    ['timeadd("2026-01-01T00:00:00Z", "1h30m")', '2026-01-01T01:30:00Z'],
    ['cidrhost("10.1.0.0/16", 5)', '10.1.0.5'],
    ['cidrnetmask("10.0.0.0/12")', '255.240.0.0'],
    ['cidrsubnets("10.0.0.0/8", 8, 9)', ['10.0.0.0/16', '10.1.0.0/17']],
  ])('%s', (expression, value) => expect(json(expression)).toEqual(value));

  it.each(['templatefile', 'timestamp', 'env', 'regex', 'tostring', 'toset', 'startswith', 'one', 'anytrue'])(
    'jobspec.md 7: %s is absent on purpose',
    (name) => expect(wrong(`${name}("a")`)).toContain('Call to unknown function'),
  );

  it('JS-3: bcrypt makes another text each time, which belongs to the password', () => {
    const [first, second] = [json('bcrypt("secret", 4)'), json('bcrypt("secret", 4)')];
    expect(first).toMatch(/^\$2b\$04\$.{53}$/);
    expect(second).not.toBe(first);
    expect(compareSync('secret', first)).toBe(true);
    expect(json('bcrypt("secret", 1)')).toMatch(/^\$2b\$10\$/);
  });

  it.each([
    ['bcrypt("x", 17)', 'cost 17 is outside allowed range (4,16)'],
    [`bcrypt("${'x'.repeat(73)}")`, 'password length exceeds 72 bytes'],
    ['yamldecode("a: [")', 'Call to function "yamldecode" failed'],
    ['yamldecode("--- 1\\n--- 2\\n")', 'multiple documents'],
    [
      `yamldecode("a: &a [1,1,1,1,1,1,1,1,1]\\n${'bcdefgh'
        .split('')
        .map((name, at) => `${name}: &${name} [${`*${'abcdefg'[at]},`.repeat(9)}]\\n`)
        .join('')}")`,
      'takes more than 1000000 steps',
    ],
  ])('%s is refused', (expression, message) => expect(wrong(expression)).toContain(message));

  it('JS-90: without files every file function says so, basename too', () => {
    for (const name of ['abspath', 'basename', 'dirname', 'file', 'filebase64', 'fileexists', 'pathexpand'])
      expect(wrong(`${name}("x")`)).toContain(`Call to function "${name}" failed: filesystem function disabled.`);
    expect(wrong('fileset("x", "*")')).toContain('filesystem function disabled');
  });
});

describe('limits', { timeout: 60_000 }, () => {
  it.each([
    ['[for a in range(1000) : [for b in range(1000) : [for c in range(1000) : c]]]', 'steps'],
    [
      '"%{ for a in range(1000) }%{ for b in range(1000) }${jsonencode(range(900))}%{ endfor }%{ endfor }"',
      'longer than',
    ],
    ['range(2000)', 'more than 1024 values'],
    ['format("%99999d", 1)', 'at most 1000'],
    ['format("100%")', 'write it twice'],
    ['format("%z", 1)', 'unsupported format verb'],
    ['regex_replace("a", "(?<=a)b", "")', 'error parsing regexp'],
    ['formatdate("YYYY", "2026-02-30T00:00:00Z")', 'not a valid RFC3339 timestamp'],
    ['formatdate("YYYY", "2026-02-01T24:00:00Z")', 'not a valid RFC3339 timestamp'],
  ])('jobspec.md 15: %s', (expression, message) => expect(wrong(expression)).toContain(message));

  it('jobspec.md 15: doubling a string sixty times ends', () => {
    const lines = Array.from({ length: 60 }, (_, at) => ` s${at + 1} = "\${local.s${at}}\${local.s${at}}"`);
    expect(wrong('local.s60', `locals {\n s0 = "xxxxxxxx"\n${lines.join('\n')}\n}`)).toContain(
      'a string is longer than 1048576 characters',
    );
  });
});
