import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { body, envelope } from '../../test/support/signed-requests.ts';
import { claimedEventId, compileScheme, type HmacDescription, identify, providers } from './index.ts';

const base = { hmac: 'sha256', header: 'X-Sign', encoding: 'hex', signed: '{body}' } as const;
const scheme = (eventId: HmacDescription['eventId'], eventType?: HmacDescription['eventType']) =>
  compileScheme({ ...base, eventId, eventType });
const idIn = (headers: string[]) => identify(envelope(headers), scheme({ header: 'X-Id' }), null).eventId;
const idAt = (json: string, payload: unknown) => identify(envelope([]), scheme({ json }), payload).eventId;
const badIds = [
  '',
  'a'.repeat(201),
  'a b',
  ' a',
  'a\n',
  'a\0',
  'é',
  'a,b',
  'a"b',
  "a'b",
  'a;b',
  'a?b',
  'a%20',
  '😀',
  '<a>',
];

describe('an event id in a header', () => {
  it('[SIG-9] is taken as it stands, up to 200 characters', () => {
    for (const id of ['1', 'a'.repeat(200), 'msg_2Z.9:=/+-', '72d3162e-cc78-11e3-81ab-4c9367dc0958'])
      expect(idIn(['x-ID', id])).toEqual({ value: id });
  });

  it('[SIG-9] is refused, never cut, when it is longer or holds another character', () => {
    for (const id of badIds) expect(idIn(['X-Id', id]), JSON.stringify(id)).toBe('bad');
  });

  it('[SIG-9] may be absent, and is refused when the header is repeated', () => {
    expect(idIn(['X-Other', 'a'])).toBe('absent');
    expect(idIn(['X-Id', 'a', 'x-id', 'a'])).toBe('bad');
  });
});

describe('an event id in the body', () => {
  it('[SIG-9] is found at its path, through objects and lists', () => {
    expect(idAt('id', { id: 'evt_1' })).toEqual({ value: 'evt_1' });
    expect(idAt('data.object.id', { data: { object: { id: 'evt_1' } } })).toEqual({ value: 'evt_1' });
    expect(idAt('events.1.id', { events: [{ id: 'a' }, { id: 'b' }] })).toEqual({ value: 'b' });
    expect(idAt('0.id', [{ id: 'a' }])).toEqual({ value: 'a' });
  });

  it('[SIG-9] may be a whole number that JavaScript holds exactly', () => {
    expect(idAt('id', { id: 42 })).toEqual({ value: '42' });
    expect(idAt('id', { id: 0 })).toEqual({ value: '0' });
    expect(idAt('id', { id: Number.MAX_SAFE_INTEGER })).toEqual({ value: '9007199254740991' });
    for (const id of [2 ** 53, 1e21, 1.5, Number.POSITIVE_INFINITY, Number.NaN])
      expect(idAt('id', { id }), `${id}`).toBe('bad');
  });

  it('[SIG-9] is refused where it is neither text nor number, or an ill-formed text', () => {
    for (const id of [true, false, {}, [], ['evt_1'], { id: 'x' }]) expect(idAt('id', { id })).toBe('bad');
    for (const id of badIds) expect(idAt('id', { id }), JSON.stringify(id)).toBe('bad');
  });

  it('[SIG-9] is absent where the path ends early, whatever the body is', () => {
    const payloads = [{}, { id: null }, null, undefined, 'id', 5, true, [], { data: 'id' }, { data: null }];
    for (const payload of payloads) {
      expect(idAt('id', payload)).toBe('absent');
      expect(idAt('data.id', payload)).toBe('absent');
    }
    expect(idAt('', { id: 'a' })).toBe('absent');
    expect(idAt('id.length', { id: 'evt_1' })).toBe('absent');
  });

  it('[SIG-9] is looked for among own properties only', () => {
    for (const path of [
      '__proto__',
      'constructor',
      'constructor.name',
      'toString.name',
      '__proto__.constructor.name',
    ])
      expect(idAt(path, {}), path).toBe('absent');
    expect(idAt('constructor.name', JSON.parse('{"constructor":{"name":"evt_1"}}'))).toEqual({
      value: 'evt_1',
    });
    expect(idAt('__proto__.id', JSON.parse('{"__proto__":{"id":"evt_1"}}'))).toEqual({ value: 'evt_1' });
    expect(idAt('id', JSON.parse('{"__proto__":{"id":"evt_1"}}'))).toBe('absent');
  });
});

it('[SIG-9] the digest of the body is an id that every body has', () => {
  const digest = (sent: Buffer) => identify(envelope([], sent), scheme({ digest: 'body' }), null).eventId;
  expect(digest(body)).toEqual({ value: createHash('sha256').update(body).digest('hex') });
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  expect(digest(Buffer.alloc(0))).toEqual({ value: empty });
  expect(digest(Buffer.from([0xff]))).not.toEqual(digest(Buffer.from([0xfe])));
});

describe('the event type', () => {
  const github = compileScheme((providers.github as (typeof providers)[string]).scheme);
  const typeOf = (headers: string[], payload?: unknown) =>
    identify(envelope(headers), github, payload).eventType;

  it('[SIG-1] of GitHub is the header, with the action of the body behind it', () => {
    expect(typeOf(['X-GitHub-Event', 'push'], {})).toBe('push');
    expect(typeOf(['x-github-event', 'pull_request'], { action: 'opened' })).toBe('pull_request.opened');
    expect(typeOf([], { action: 'opened' })).toBeNull();
  });

  it('[IN-9] leaves out an action that is no text or would make it ill-formed', () => {
    for (const action of [5, null, true, {}, ['opened'], 'é', 'a\nb', '\0', 'a'.repeat(200)])
      expect(typeOf(['X-GitHub-Event', 'issues'], { action })).toBe('issues');
    expect(typeOf(['X-GitHub-Event', 'issues'], 'action')).toBe('issues');
    expect(typeOf(['X-GitHub-Event', 'issues'], JSON.parse('{"__proto__":{"action":"opened"}}'))).toBe(
      'issues',
    );
    expect(typeOf(['X-GitHub-Event', 'a'], { action: 'b'.repeat(198) })).toHaveLength(200);
  });

  it('[IN-9] is printable ASCII of 1 to 200 characters or none at all', () => {
    const inHeader = scheme({ digest: 'body' }, { header: 'X-Type' });
    const at = scheme({ digest: 'body' }, { json: 'meta.type' });
    for (const type of ['a', 'Order Created~', ' ', 'a'.repeat(200)]) {
      expect(identify(envelope(['X-Type', type]), inHeader, null).eventType).toBe(type);
      expect(identify(envelope([]), at, { meta: { type } }).eventType).toBe(type);
    }
    for (const type of ['', 'a'.repeat(201), 'é', 'a\tb', 'a\n', '\x7f', '\0', '\ud800']) {
      expect(identify(envelope(['X-Type', type]), inHeader, null).eventType).toBeNull();
      expect(identify(envelope([]), at, { meta: { type } }).eventType).toBeNull();
    }
    for (const type of [5, null, {}, ['a']])
      expect(identify(envelope([]), at, { meta: { type } }).eventType).toBeNull();
  });

  it('[SIG-1] may be one word for all, or nowhere', () => {
    const fixed = scheme({ digest: 'body' }, { value: 'order.created' });
    expect(identify(envelope([]), fixed, null).eventType).toBe('order.created');
    expect(
      identify(envelope(['X-Type', 'a']), scheme({ digest: 'body' }), { type: 'a' }).eventType,
    ).toBeNull();
  });
});

it('[IN-4] the claimed id of an unverified request is what its header says, if a header is to say it', () => {
  const header = scheme({ header: 'X-Id' });
  expect(claimedEventId(['X-ID', 'evt 1\0'], header)).toBe('evt 1\0');
  expect(claimedEventId(['X-Id', 'a', 'X-Id', 'b'], header)).toBe('a');
  expect(claimedEventId([], header)).toBeNull();
  expect(claimedEventId(['id', 'a'], scheme({ json: 'id' }))).toBeNull();
  expect(claimedEventId(['body', 'a'], scheme({ digest: 'body' }))).toBeNull();
});

it('[SIG-2] no payload makes identify throw, and no id comes out that is not well-formed', () => {
  const path = fc.constantFrom('id', 'a.b', '0', 'length', '__proto__', 'a.0.b', 'constructor.name', '');
  const payload = fc.oneof(
    fc.json().map((text) => JSON.parse(text)),
    fc.dictionary(fc.constantFrom('id', 'a', '0', '__proto__'), fc.jsonValue()),
  );
  fc.assert(
    fc.property(path, payload, (json, value) => {
      const { eventId, eventType } = identify(envelope([]), scheme({ json }, { json }), value);
      if (typeof eventId === 'object') expect(eventId.value).toMatch(/^[A-Za-z0-9_.:=/+-]{1,200}$/);
      else expect(eventId).toBeOneOf(['absent', 'bad']);
      expect(eventType === null || /^[\x20-\x7e]{1,200}$/.test(eventType)).toBe(true);
    }),
    { numRuns: 300 },
  );
});
