import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { configurationSchema } from './configuration.ts';

/** docs/configuration.md is held against the schema and the code, both ways. */
const root = join(import.meta.dirname, '../..');
const docs = readFileSync(join(root, 'docs/configuration.md'), 'utf8');
const rows = docs.split('\n').flatMap((line) => {
  const [, key, cell] = /^\| `([^`]+)` \|([^|]*)\|/.exec(line) ?? [];
  return key === undefined ? [] : [{ key, fallback: /^ `([^`]*)`/.exec(cell ?? '')?.[1] }];
});

type Schema = {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  anyOf?: Schema[];
  default?: unknown;
};

/** Every key that can be set, as docs name it, with its default. */
function leaves(schema: Schema, path = ''): { key: string; fallback: unknown }[] {
  const branches = schema.anyOf ?? [schema];
  const inner = branches.flatMap((branch) => [
    ...Object.entries(branch.properties ?? {}).flatMap(([name, value]) =>
      leaves(value, path === '' ? name : `${path}.${name}`),
    ),
    ...(typeof branch.additionalProperties === 'object'
      ? leaves(branch.additionalProperties, `${path}.*`)
      : []),
    ...(branch.items?.properties ? leaves(branch.items, `${path}[]`) : []),
  ]);
  const isChoice = schema.anyOf?.some((branch) => branch.properties === undefined);
  return inner.length === 0 || isChoice ? [{ key: path, fallback: schema.default }, ...inner] : inner;
}

const schema = z.toJSONSchema(configurationSchema, { io: 'input', unrepresentable: 'any' }) as Schema;
const known = new Map(leaves(schema).map(({ key, fallback }) => [key, fallback]));

it('[IN-12] docs/configuration.md names every key of the schema and no other', () => {
  const documented = rows.map(({ key }) => key).filter((key) => !/^[A-Z_]+$/.test(key));
  expect([...new Set(documented)].sort()).toEqual([...known.keys()].sort());
});

it('[IN-12] docs/configuration.md states the defaults of the schema', () => {
  for (const { key, fallback } of rows) {
    const actual = known.get(key);
    if (actual === undefined || typeof actual === 'object') continue;
    expect(fallback, `default of ${key}`).toBe(String(actual));
  }
});

it('[IN-12] docs/configuration.md names every environment variable that the code reads', () => {
  const documented = rows.map(({ key }) => key).filter((key) => /^[A-Z_]+$/.test(key));
  const read = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .flatMap((file) => [...readFileSync(join(root, 'src', file), 'utf8').matchAll(/environment\.([A-Z_]+)/g)])
    .map(([, name]) => name as string);
  expect(documented.sort()).toEqual([...new Set(read)].sort());
});

it('[IN-12] the example of a sender in docs/configuration.md is a sound configuration', () => {
  const example = /```yaml\n([\s\S]*?)```/.exec(docs)?.[1] as string;
  expect(configurationSchema.safeParse(parse(example)).error).toBeUndefined();
});
