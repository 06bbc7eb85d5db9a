import { readFile, stat } from 'node:fs/promises';

export const systemHostsFile =
  process.platform === 'win32' ? 'C:\\Windows\\System32\\drivers\\etc\\hosts' : '/etc/hosts';

/**
 * Looks names up in a hosts file: lines of an address and its names (hosts(5)). All lines of a name count. The file is
 * read again when it changed; one that cannot be read holds nothing.
 */
export function createHostsFile(path: string): (name: string) => Promise<readonly string[]> {
  let stamp: string | undefined;
  let entries = new Map<string, string[]>();
  return async (name) => {
    const found = await stampOf(path);
    if (found !== stamp) {
      entries = parseHosts(await readFile(path, 'utf8').catch(() => ''));
      stamp = found;
    }
    return entries.get(name.toLowerCase()) ?? [];
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const entries = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (!address) continue;
    for (const name of names) {
      const key = name.toLowerCase().replace(/\.$/, '');
      entries.set(key, [...(entries.get(key) ?? []), address]);
    }
  }
  return entries;
}

async function stampOf(path: string): Promise<string> {
  return stat(path).then(
    ({ mtimeMs, size, ino }) => `${mtimeMs} ${size} ${ino}`,
    () => 'absent',
  );
}
