import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { AppError } from '../../src/core/errors.ts';
import { loadConfiguration } from '../../src/run/configuration.ts';

/** Registers hooks: a folder with a secret and a handler module, gone after each test, and the environment as it was. */
export function useConfigurationFolder() {
  let folder = '';
  const write = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'posthorn-configuration-'));
    write('secret', 'a-secret-of-the-tests-0123456789\n');
    write('handlers.js', 'export default () => {};');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true, force: true });
  });
  /** The problems that a start with this configuration would list; none = it is sound. */
  const problemsOf = async (text: string, name = 'posthorn.yaml'): Promise<string[]> => {
    const thrown: unknown = await loadConfiguration({ config: write(name, text) }, () => {}).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (thrown === undefined) return [];
    expect(thrown).toBeInstanceOf(AppError);
    expect((thrown as AppError).exitCode).toBe(2);
    const [, ...lines] = (thrown as AppError).message.split('\n');
    return lines.map((line) => line.trim());
  };
  /** Expects these problems of a file with these handlers, in any order; `{F}` stands for its folder. */
  const judge = async (handlers: readonly string[], expected: readonly string[]): Promise<void> => {
    const problems = await problemsOf(
      `sources:\n  shop: { scheme: github, secretFile: secret }\nhandlers:\n${handlers.map((line) => `  - ${line}\n`).join('')}`,
    );
    expect([...problems].sort()).toEqual(expected.map((line) => line.replaceAll('{F}', folder)).sort());
  };
  return { folder: () => folder, write, problemsOf, judge };
}
