import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { makeSecretFile } from './secrets.ts';

/**
 * Encrypts secrets that have to be kept in the database: AES-256-GCM with a key from a file that is not in it. The additional
 * data binds a text to its row, so that it cannot be moved to another.
 */
export type Encryption = {
  encrypt(text: string, boundTo: string): Buffer;
  /** Throws where key, row or bytes are others. */
  decrypt(sealed: Buffer, boundTo: string): string;
};

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const keyIdBytes = 4;

/**
 * The keys of a file: a line `<8 hexadecimal characters of the id>:<64 of the key>` each. The first encrypts, all decrypt, so
 * that a new one is put in front. Throws where the file cannot be read or has another form.
 */
export function loadEncryption(path: string): Encryption {
  const keys = readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const match = /^([0-9a-f]{8}):([0-9a-f]{64})$/.exec(line.trim());
      if (match === null)
        throw new Error(`${path} is no file of keys; its lines are <id>:<key> in hexadecimal digits`);
      return { id: Buffer.from(match[1] as string, 'hex'), key: Buffer.from(match[2] as string, 'hex') };
    });
  const [current] = keys;
  if (current === undefined) throw new Error(`${path} holds no key`);
  return {
    encrypt(text, boundTo) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', current.key, iv).setAAD(Buffer.from(boundTo));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([current.id, iv, cipher.getAuthTag(), sealed]);
    },
    decrypt(sealed, boundTo) {
      const id = sealed.subarray(0, keyIdBytes);
      const held = keys.find((key) => key.id.equals(id));
      if (held === undefined) throw new Error(`the key ${id.toString('hex')} is not in ${path}`);
      const ivEnd = keyIdBytes + ivBytes;
      const decipher = createDecipheriv('aes-256-gcm', held.key, sealed.subarray(keyIdBytes, ivEnd))
        .setAAD(Buffer.from(boundTo))
        .setAuthTag(sealed.subarray(ivEnd, ivEnd + tagBytes));
      return `${decipher.update(sealed.subarray(ivEnd + tagBytes), undefined, 'utf8')}${decipher.final('utf8')}`;
    },
  };
}

/** The encryption by a file of keys, read at the first need; a file of our own (`mayMake`) is made then. */
export function createEncryption(path: string, { mayMake }: { mayMake: boolean }): () => Encryption {
  let loaded: Encryption | undefined;
  return () => {
    if (loaded === undefined) {
      if (mayMake) makeKeyFile(path);
      loaded = loadEncryption(path);
    }
    return loaded;
  };
}

/** Makes the file with one random key, mode 0600, unless there is one. */
export function makeKeyFile(path: string): void {
  makeSecretFile(path, `${randomBytes(keyIdBytes).toString('hex')}:${randomBytes(keyBytes).toString('hex')}`);
}
