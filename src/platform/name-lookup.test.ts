import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createNameLookup, createSystemResolve, type Resolve } from './name-lookup.ts';

const patient = () => AbortSignal.timeout(5_000);
const folder = mkdtempSync(join(tmpdir(), 'hosts-'));
const hostsFile = join(folder, 'hosts');
afterAll(() => rmSync(folder, { recursive: true }));

describe('look-ups with a stand-in resolver', () => {
  const hanging = (calls: string[]): Resolve => {
    return (name) => {
      calls.push(name);
      return name.startsWith('hang') ? new Promise(() => {}) : Promise.resolve(['93.184.216.34']);
    };
  };

  it('[EGR-9] of one name are joined, each within its own budget, and another name is not delayed', async () => {
    const calls: string[] = [];
    const lookup = createNameLookup(hanging(calls));
    const first = lookup.find('hang.example.com', AbortSignal.timeout(30));
    const second = lookup.find('hang.example.com', AbortSignal.timeout(60));
    await expect(lookup.find('quick.example.com', patient())).resolves.toEqual(['93.184.216.34']);
    await expect(first).rejects.toThrow(/timeout/);
    await expect(second).rejects.toThrow(/timeout/);
    await expect(lookup.find('hang.example.com', AbortSignal.timeout(10))).rejects.toThrow(/timeout/);
    expect(calls).toEqual(['hang.example.com', 'quick.example.com']);
  });

  it('[EGR-2] an answer is not remembered', async () => {
    const calls: string[] = [];
    const lookup = createNameLookup(hanging(calls));
    await lookup.find('a.example.com', patient());
    await lookup.find('a.example.com', patient());
    expect(calls).toHaveLength(2);
  });

  it('[EGR-9] cancel rejects those who wait, and the next look-up starts anew', async () => {
    const calls: string[] = [];
    const lookup = createNameLookup(hanging(calls));
    const waiting = lookup.find('hang.example.com', patient());
    lookup.cancel();
    await expect(waiting).rejects.toThrow('cancelled');
    await expect(lookup.find('hang.example.com', AbortSignal.timeout(10))).rejects.toThrow(/timeout/);
    expect(calls).toHaveLength(2);
  });

  it('a failed look-up is told to each who waits, and one that nobody waits for harms nothing', async () => {
    const lookup = createNameLookup(async () => {
      throw new Error('no server');
    });
    const both = [lookup.find('a.example.com', patient()), lookup.find('a.example.com', patient())];
    expect((await Promise.allSettled(both)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(lookup.find('a.example.com', AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
  });
});

describe('the system’s resolver', () => {
  let server: Socket;
  let asked: string[] = [];
  let resolve: Resolve;

  beforeAll(async () => {
    server = createSocket('udp4', (query, peer) => {
      const { name, type } = question(query);
      asked.push(`${name} ${type}`);
      if (!name.startsWith('hang')) server.send(answerTo(query, records[`${name} ${type}`]), peer.port);
    });
    await new Promise<void>((done) => server.bind(0, '127.0.0.1', done));
    resolve = createSystemResolve({ hostsFile, servers: [`127.0.0.1:${server.address().port}`] });
  });
  afterAll(() => void server.close());
  beforeEach(() => {
    asked = [];
    writeFileSync(hostsFile, '');
  });

  it('[EGR-2] asks for both families and gives all records', async () => {
    expect(await resolve('both.example.com', patient())).toEqual([
      '93.184.216.34',
      '93.184.216.35',
      '2606:2800:220:1::1',
    ]);
    expect(asked.sort()).toEqual(['both.example.com A', 'both.example.com AAAA']);
  });

  it('[EGR-2] gives no address for a name that does not exist', async () => {
    expect(await resolve('absent.example.com', patient())).toEqual([]);
  });

  it('[EGR-9] is cancelled while a server hangs, and answers for another name meanwhile', async () => {
    const lookup = createNameLookup(resolve);
    const waiting = ['hang1', 'hang2', 'hang3'].map((name) => lookup.find(`${name}.example.com`, patient()));
    const settled = Promise.allSettled(waiting);
    const began = performance.now();
    expect(await lookup.find('both.example.com', patient())).toHaveLength(3);
    expect(performance.now() - began).toBeLessThan(1_000);
    lookup.cancel();
    expect((await settled).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });

  it('[EGR-9] gives up at once when it is asked to, although the server would be waited for longer', async () => {
    const began = performance.now();
    await expect(resolve('hang.example.com', AbortSignal.timeout(50))).rejects.toThrow(/timeout/);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('[EGR-9] looks into the hosts file first, and again when it changed', async () => {
    writeFileSync(hostsFile, '# mine\n10.1.1.1 Both.example.com other # x\n::1\tboth.example.com.\n\n');
    expect(await resolve('both.example.com', patient())).toEqual(['10.1.1.1', '::1']);
    expect(asked).toEqual([]);
    rmSync(hostsFile);
    expect(await resolve('both.example.com', patient())).toHaveLength(3);
  });
});

const records: Record<string, Buffer[]> = {
  'both.example.com A': [Buffer.from([93, 184, 216, 34]), Buffer.from([93, 184, 216, 35])],
  'both.example.com AAAA': [Buffer.from('26062800022000010000000000000001', 'hex')],
};

/** RFC 1035, 4.1: a header of 12 bytes, then one question of labels, type and class. */
function question(query: Buffer): { name: string; type: string; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] as number; length > 0; length = query[at] as number) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A', end: at + 5 };
}

/** The question again, then a record each, whose name points back at the question; NXDOMAIN where there is none. */
function answerTo(query: Buffer, data: Buffer[] = []): Buffer {
  const { end } = question(query);
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(data.length > 0 ? 0x8180 : 0x8183, 2);
  head.writeUInt16BE(data.length, 6);
  head.fill(0, 8, 12);
  const answers = data.map((bytes) => {
    const record = Buffer.from([
      0xc0,
      12,
      0,
      bytes.length === 16 ? 28 : 1,
      0,
      1,
      0,
      0,
      0,
      60,
      0,
      bytes.length,
    ]);
    return Buffer.concat([record, bytes]);
  });
  return Buffer.concat([head, ...answers]);
}
