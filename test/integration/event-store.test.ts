import { expect, it } from 'vitest';
import { findEvent, type Handler } from '../../src/inbound/index.ts';
import { useFileHandlers } from '../support/file-handlers.ts';
import { useWorkers } from '../support/worker.ts';

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
