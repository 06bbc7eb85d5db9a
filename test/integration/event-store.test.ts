import { expect, it } from 'vitest';
import { findEvent, type Handler, startTail } from '../../src/inbound/index.ts';
import { useFileHandlers } from '../support/file-handlers.ts';
import { handler, useWorkers } from '../support/worker.ts';

const { clock, journal, start, pool } = useWorkers();
const files = useFileHandlers(clock);

async function runOnce(handler: Handler): Promise<void> {
  const worker = await start(handler);
  await worker.round();
  await worker.idle();
}

it('[CLI-2][IN-18] an event is found with what the command of each try said, whole', async () => {
  const [event] = await journal([{}]);
  await runOnce(await files.script('printf "out\\n"; seq 2000; echo failing >&2; exit 3'));
  const found = await findEvent(pool(), event as number);
  const [attempt] = found?.runs[0]?.tries ?? [];
  expect(attempt).toMatchObject({ n: 1, outcome: 'failed', error: 'the command ended with exit code 3' });
  expect(attempt?.output).toMatch(/^out\n1\n2\n[\d\n]+2000\nfailing\n$/);
});

it('[CLI-2] a tail gives each event as it arrives, and once more when its handlers are done', async () => {
  const [before] = await journal([{}]);
  const tail = await startTail(pool());
  const look = async () => (await tail.look()).map(({ id, status }) => `${id} ${status}`);
  expect(await look(), 'what was there before the tail').toEqual([]);
  const [good, bad, refused] = await journal([
    {},
    { eventType: 'bad' },
    { status: 'rejected', reason: 'bad_signature', eventId: null },
  ]);
  expect(await look()).toEqual([`${good} accepted`, `${bad} accepted`, `${refused} rejected`]);
  expect(await look()).toEqual([]);
  await runOnce(
    handler(({ eventType, id }, { reject }) => {
      if (eventType === 'bad') throw reject('no');
      return id;
    }),
  );
  expect((await look()).sort()).toEqual([`${good} success`, `${bad} failed`].sort());
  expect(await look()).toEqual([]);
  const { rows } = await pool().query('select status from posthorn.events where id = $1', [before]);
  expect(rows, 'also done, but never shown').toEqual([{ status: 'success' }]);
});

it('[CLI-2] a tail gives an event once that was done before it was seen', async () => {
  const tail = await startTail(pool());
  const [event] = await journal([{}]);
  await runOnce(handler(() => {}));
  expect(await tail.look()).toMatchObject([{ id: event, status: 'success' }]);
  expect(await tail.look()).toEqual([]);
});
