import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Provider, providers, sign } from '../../src/signing/index.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Answer, startGateway, type TestGateway, withoutGithub } from '../support/gateway.ts';
import { keysFor, schemeFor } from '../support/provider-requests.ts';

const verifyToken = 'the-token-that-was-typed-in';
/** Those whose secret is in a file from the beginning. */
const slugs = [
  ...['slack', 'zoom', 'meta', 'dropbox', 'ms-graph', 'monday', 'trello', 'intercom', 'x'],
  ...['okta', 'discord', 'woocommerce', 'pagerduty', 'github'],
];
let database: TestDatabase;
let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'posthorn-handshakes-'));
  writeFileSync(join(folder, 'verify-token'), verifyToken, { mode: 0o600 });
  const sources: Record<string, object> = {};
  for (const slug of slugs) {
    const provider = providers[slug] as Provider;
    writeFileSync(join(folder, slug), secretOf(slug), { mode: 0o600 });
    sources[slug] = {
      scheme: slug,
      secretFile: join(folder, slug),
      ...(provider.needs?.includes('publicUrl') ? { publicUrl: 'https://hooks.example.com/in' } : {}),
      ...(slug === 'meta' ? { verifyTokenFile: join(folder, 'verify-token') } : {}),
    };
  }
  sources.asana = { scheme: 'asana' };
  sources.notion = { scheme: 'notion' };
  sources.pending = { scheme: 'slack' };
  gateway = await startGateway(database, { config: { sources } });
});

afterAll(async () => {
  await gateway.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await database.pool.query('truncate posthorn.events, posthorn.event_bodies');
});

function schemeOf(slug: string) {
  return schemeFor(providers[slug] as Provider);
}

function secretOf(slug: string): string {
  return keysFor(schemeOf(slug)).secrets[0];
}

type Sent = { method?: string; query?: string; headers?: Record<string, string>; body?: string };

/** A request without any signature. */
function bare(source: string, { headers, body = '', ...sent }: Sent): Promise<Answer> {
  return gateway.send({ source, ...sent, body, headers: { ...withoutGithub, ...headers } });
}

/** The same, signed as the sender of the source signs. */
function signed(source: string, body: string, given: Record<string, string> = {}): Promise<Answer> {
  const scheme = schemeOf(source);
  const { signer } = keysFor(scheme);
  const made = sign({ body: Buffer.from(body), headers: given }, scheme, {
    key: signer,
    id: 'evt_1',
    timestamp: Date.now(),
  });
  return gateway.send({ source, body: made.body, headers: { ...withoutGithub, ...made.headers } });
}

async function statuses(): Promise<string[]> {
  const { rows } = await database.pool.query('select status, reason from posthorn.events order by id');
  return rows.map(({ status, reason }) => (reason === null ? status : `${status}: ${reason}`));
}

const plain = 'text/plain; charset=utf-8';
const json = 'application/json';

describe('a sender that tries the URL without a signature', () => {
  it.each([
    {
      source: 'meta',
      sent: {
        method: 'GET',
        query: `?hub.mode=subscribe&hub.verify_token=${verifyToken}&hub.challenge=1158201444`,
      },
      type: plain,
      body: '1158201444',
    },
    {
      source: 'dropbox',
      sent: { method: 'GET', query: '?challenge=abc%20123' },
      type: plain,
      body: 'abc 123',
    },
    {
      source: 'ms-graph',
      sent: { query: '?validationToken=Validation%3A+Testing+%3Ca%3E' },
      type: plain,
      body: 'Validation: Testing <a>',
    },
    {
      source: 'okta',
      sent: { method: 'GET', headers: { 'X-Okta-Verification-Challenge': 'abc-123' } },
      type: json,
      body: '{"verification":"abc-123"}',
    },
    {
      source: 'monday',
      sent: { body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}' },
      type: json,
      body: '{"challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"}',
    },
    { source: 'trello', sent: { method: 'HEAD' }, type: undefined, body: '' },
    { source: 'intercom', sent: { method: 'HEAD' }, type: undefined, body: '' },
    {
      source: 'woocommerce',
      sent: { body: 'webhook_id=12', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } },
      type: undefined,
      body: '',
    },
  ])('[IN-8] $source is answered exactly as it asks, and nothing but that is kept', async (of) => {
    const answer = await bare(of.source, of.sent);
    expect(answer).toMatchObject({ status: 200, body: of.body });
    expect(answer.headers['content-type']).toBe(of.type);
    if (of.type === plain) expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(await statuses()).toEqual([`handshake: ${providers[of.source]?.handshake}`]);
  });

  it('[IN-8] on a source of another sender it is an ordinary request, and refused', async () => {
    expect(await bare('github', { method: 'GET', query: '?challenge=abc' })).toMatchObject({ status: 405 });
    expect(await bare('github', { query: '?validationToken=abc' })).toMatchObject({ status: 401, body: '' });
    expect(await bare('slack', { body: '{"challenge":"abc"}' })).toMatchObject({ status: 401, body: '' });
  });

  it('[IN-8] Meta with another token, or none, is refused with 403 and hears nothing back', async () => {
    for (const token of ['&hub.verify_token=other', '&hub.verify_token=', '']) {
      const query = `?hub.mode=subscribe${token}&hub.challenge=1158201444`;
      expect(await bare('meta', { method: 'GET', query })).toMatchObject({ status: 403, body: '' });
    }
  });

  it('[IN-8] X hears the HMAC of its token, and no token that could be a body of somebody', async () => {
    const secret = secretOf('x');
    const token = '9b4507b3-9040-4669-9ca3-6b94edb50553';
    const answer = await bare('x', { method: 'GET', query: `?crc_token=${token}` });
    const mac = createHmac('sha256', secret).update(token).digest('base64');
    expect(answer).toMatchObject({ status: 200, body: `{"response_token":"sha256=${mac}"}` });
    expect(answer.headers['content-type']).toBe(json);
    expect(await bare('x', { method: 'GET', query: '?crc_token=%7B%22a%22%3A1%7D' })).toMatchObject({
      status: 403,
      body: '',
    });
  });
});

describe('a sender that signs its try', () => {
  it('[IN-8] Slack gets its challenge as text, on a source without a secret too; unsigned it is refused', async () => {
    const body = '{"token":"legacy","challenge":"3eZbrw1aBm2r","type":"url_verification"}';
    const answer = await signed('slack', body);
    expect(answer).toMatchObject({ status: 200, body: '3eZbrw1aBm2r' });
    expect(answer.headers['content-type']).toBe(plain);
    expect(await bare('pending', { body })).toMatchObject({ status: 200, body: '3eZbrw1aBm2r' });
    expect(await bare('slack', { body })).toMatchObject({ status: 401, body: '' });
  });

  it('[IN-8] Zoom gets its token and the HMAC of it; unsigned it is refused', async () => {
    const secret = secretOf('zoom');
    const body = '{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}';
    const encryptedToken = createHmac('sha256', secret).update('qgg8vlvZRS6UYooatFL8Aw').digest('hex');
    const answer = await signed('zoom', body);
    expect(answer.headers['content-type']).toBe(json);
    expect(answer).toMatchObject({
      status: 200,
      body: JSON.stringify({ plainToken: 'qgg8vlvZRS6UYooatFL8Aw', encryptedToken }),
    });
    expect(await bare('zoom', { body })).toMatchObject({ status: 401, body: '' });
  });

  it('[IN-8] Discord: type 0 is answered 204 without a body, type 1 with itself, a bad signature 401', async () => {
    const event = await signed('discord', '{"version":1,"application_id":"1","type":0}');
    expect(event).toMatchObject({ status: 204, body: '' });
    expect(event.headers['content-type']).toBe(json);
    const interaction = await signed('discord', '{"id":"1","type":1}');
    expect(interaction).toMatchObject({ status: 200, body: '{"type":1}' });
    expect(interaction.headers['content-type']).toBe(json);
    expect(await bare('discord', { body: '{"type":1}' })).toMatchObject({ status: 401, body: '' });
  });

  it('[IN-8] the pings of PagerDuty and GitHub are signed like events, answered 200 and skipped', async () => {
    const ping = '{"event":{"id":"01","event_type":"pagey.ping","data":{"message":"hi"}}}';
    expect((await signed('pagerduty', ping)).status).toBe(200);
    expect((await signed('github', '{"zen":"Keep it simple"}', { 'X-GitHub-Event': 'ping' })).status).toBe(
      200,
    );
    expect(await statuses()).toEqual(['skipped: pagey.ping', 'skipped: ping']);
  });
});

describe('a sender that hands its secret over', () => {
  it('[IN-8] Asana gets its header back; from then on its events verify, and no other secret is taken', async () => {
    const secret = 'b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81';
    const answer = await bare('asana', { body: '{}', headers: { 'X-Hook-Secret': secret } });
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(answer.headers['x-hook-secret']).toBe(secret);
    const body = '{"events":[{"action":"changed","resource":{"gid":"1"}}]}';
    const signature = createHmac('sha256', secret).update(body).digest('hex');
    expect(await bare('asana', { body, headers: { 'X-Hook-Signature': signature } })).toMatchObject({
      status: 200,
    });
    const other = await bare('asana', { body: '{}', headers: { 'X-Hook-Secret': `${secret.slice(1)}0` } });
    expect(other).toMatchObject({ status: 403, body: '' });
    expect(other.headers['x-hook-secret']).toBeUndefined();
    const { rows } = await database.pool.query('select * from posthorn.event_bodies');
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('[IN-8] Notion gets an empty answer; its token is kept, but not in the journal', async () => {
    const token = 'secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl';
    expect(await bare('notion', { body: JSON.stringify({ verification_token: token }) })).toMatchObject({
      status: 200,
      body: '',
    });
    const body = '{"id":"1","type":"page.created","timestamp":"2026-01-01T00:00:00Z"}';
    const signature = createHmac('sha256', token).update(body).digest('hex');
    const headers = { 'X-Notion-Signature': `sha256=${signature}` };
    expect(await bare('notion', { body, headers })).toMatchObject({ status: 200 });
    const { rows } = await database.pool.query(
      'select convert_from(body, $1) as body, headers from posthorn.event_bodies',
      ['UTF8'],
    );
    expect(JSON.stringify(rows)).not.toContain(token);
  });
});
