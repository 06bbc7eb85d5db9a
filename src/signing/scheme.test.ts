import { describe, expect, it } from 'vitest';
import { compileScheme, type HmacDescription, schemeProblems } from './index.ts';
import { idEnds, signedParts } from './template.ts';

const good: HmacDescription = {
  hmac: 'sha256',
  key: 'utf8',
  header: 'X-Sign',
  prefix: 'sha256=',
  list: ',',
  field: 'v1',
  encoding: 'hex',
  signed: 'v0:{id}.{timestamp}.{body}',
  timestamp: { field: 't', unit: 's' },
  eventId: { header: 'X-Id' },
  eventType: { header: 'X-Type', action: 'data.action' },
};
const small: HmacDescription = {
  hmac: 'sha256',
  header: 'X-Sign',
  encoding: 'base64',
  signed: '{body}',
  eventId: { digest: 'body' },
};

describe('schemeProblems', () => {
  it('[SIG-1] finds nothing wrong with a full description, and the smallest one', () => {
    expect(schemeProblems(good)).toEqual([]);
    expect(schemeProblems(small)).toEqual([]);
    expect(schemeProblems({ ...small, eventId: { json: 'data.id' }, eventType: { json: 'type' } })).toEqual(
      [],
    );
    expect(schemeProblems({ ...small, eventType: { value: 'some type' } })).toEqual([]);
  });

  it('[SIG-1] names the path of each header that is no header name', () => {
    const description: HmacDescription = {
      ...small,
      signed: '{timestamp}{body}',
      header: 'X Sign',
      timestamp: { header: 'X-Time:', unit: 's' },
      eventId: { header: '' },
      eventType: { header: 'X-Typé' },
    };
    expect(schemeProblems(description).map(({ path }) => path)).toEqual([
      ['header'],
      ['timestamp', 'header'],
      ['eventId', 'header'],
      ['eventType', 'header'],
    ]);
    for (const header of ['X-Sign\n', 'X-Sign ', 'a,b', 'a'.repeat(101), '(x)', 'x\0'])
      expect(schemeProblems({ ...small, header }), header).toMatchObject([
        { path: ['header'], message: expect.stringContaining('for example X-Signature') },
      ]);
    expect(schemeProblems({ ...small, header: 'a'.repeat(100) })).toEqual([]);
  });

  const kinds: [string, Partial<HmacDescription>, string[], string][] = [
    ['an unknown part', { signed: '{url}{body}' }, ['signed'], 'holds {url}'],
    ['a part in another case', { signed: '{Body}{body}' }, ['signed'], 'holds {Body}'],
    ['no body', { signed: 'hello' }, ['signed'], 'must hold {body} exactly once'],
    ['an empty template', { signed: '' }, ['signed'], 'must hold {body} exactly once'],
    ['two bodies', { signed: '{body}{body}' }, ['signed'], 'must hold {body} exactly once'],
    ['a signed time that is nowhere', { signed: '{timestamp}.{body}' }, ['timestamp'], 'is missing'],
    [
      'a timestamp that nobody signed',
      { timestamp: { header: 'X-Time', unit: 's' } },
      ['timestamp'],
      'is not part of signed',
    ],
    ['a signed id without a header', { signed: '{id}.{body}' }, ['eventId'], 'must name a header'],
    [
      'a signed id in the body',
      { signed: '{id}.{body}', eventId: { json: 'id' } },
      ['eventId'],
      'must name a header',
    ],
    ['an empty separator', { list: '' }, ['list'], 'must not be empty'],
    ['a label without a list', { field: 'v1' }, ['list'], 'is missing: field needs'],
    [
      'a timestamp label without a list',
      { signed: '{timestamp}{body}', timestamp: { field: 't', unit: 's' } },
      ['list'],
      'is missing: timestamp.field needs',
    ],
  ];
  it.each(kinds)('[SIG-1] tells of %s, with its path and the mend', (_, change, path, message) => {
    expect(schemeProblems({ ...small, ...change })).toEqual([
      { path, message: expect.stringContaining(message) },
    ]);
  });

  it('[SIG-1] tells of every problem at once', () => {
    const description: HmacDescription = {
      ...small,
      header: '',
      signed: '{x}{timestamp}',
      list: '',
      field: 'v1',
    };
    const paths = schemeProblems(description).map(({ path }) => path.join('.'));
    expect(paths).toEqual(['header', 'signed', 'signed', 'timestamp', 'list']);
  });
});

describe('compileScheme', () => {
  it('[SIG-1] takes the short form and puts the names of headers into lower case', () => {
    const { check, description, body } = compileScheme(good);
    expect(body).toBe('json');
    expect(check).toMatchObject({
      secretHeaders: ['x-sign'],
      hasTimestamp: true,
      signsId: true,
      needsSecret: true,
    });
    expect(description.eventId).toEqual([{ header: 'x-id' }]);
    expect(description.eventType).toEqual([{ header: 'x-type', action: 'data.action' }]);
  });

  it('[SIG-1] fills in what the smallest description leaves out', () => {
    const { check, description } = compileScheme(small);
    expect(check).toMatchObject({ secretHeaders: ['x-sign'], hasTimestamp: false, signsId: false });
    expect(description.eventId).toEqual([{ digest: 'body' }]);
    expect(description.eventType).toBeUndefined();
  });

  it('[SIG-1] cuts a template into its parts, and knows what binds the id', () => {
    const parts = signedParts('v0:{id}.{timestamp}.{body}');
    expect(parts).toEqual([{ text: 'v0:' }, 'id', { text: '.' }, 'timestamp', { text: '.' }, 'body']);
    expect(idEnds(parts)).toEqual([':', '.'].slice(1));
    expect(idEnds(signedParts('{timestamp}:{id}.{body}'))).toEqual([':', '.']);
  });
});

it.each([
  [{ signed: '{id}{body}' }, 'signed'],
  [{ signed: '{body}{id}' }, 'signed'],
  [
    { list: ',', field: 'v1', signed: '{timestamp}.{body}', timestamp: { field: 'v1', unit: 's' as const } },
    'timestamp.field',
  ],
  [{ list: ',', prefix: 'a,b=' }, 'prefix'],
])('[SIG-1] refuses what could never verify or could be read in two ways: %j', (change, path) => {
  const problems = schemeProblems({
    hmac: 'sha256',
    header: 'X-Sign',
    encoding: 'hex',
    signed: '{body}',
    eventId: { header: 'X-Id' },
    ...change,
  });
  expect(problems.map((problem) => problem.path.join('.'))).toEqual([path]);
});
