import { expect, it } from 'vitest';
import { useConfigurationFolder } from '../../test/support/configuration-folder.ts';
import { quietLog } from '../../test/support/database.ts';
import { loadHandlers } from './handlers.ts';

const { folder, write } = useConfigurationFolder();

it('[IN-12][OPS-1] every handler module that does not load is named with its place and what it says', async () => {
  write('throws.mjs', "\nthrow new Error('no connection');");
  write(
    'registers.ts',
    'type On = (source: string) => void;\nexport default (on: On) => {\n  on("shop");\n};',
  );
  write('empty.mjs', 'export const on = 1;');
  const configs = ['throws.mjs', 'registers.ts', 'empty.mjs'].map((module) => ({ name: module, module }));
  const loading = { sourceCodes: ['shop'], folder: folder(), log: quietLog, fromFile: [] };
  const refused = (await loadHandlers(configs, loading).catch((error: Error) => error)) as Error;
  expect(refused.message.replaceAll(folder(), '{F}').split('\n')).toEqual([
    'The handlers cannot be used:',
    '  handler throws.mjs ({F}/throws.mjs:2): no connection',
    '  handler registers.ts ({F}/registers.ts:3): on() takes (source, pattern, handler) or (source, pattern, options, handler)',
    expect.stringMatching(/^ {2}handler empty\.mjs \(\{F\}\/empty\.mjs\): its default export is no function/),
  ]);
});
