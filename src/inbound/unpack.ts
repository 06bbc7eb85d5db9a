import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';

const unpackers = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
  deflate: promisify(inflate),
};

export type Encoding = keyof typeof unpackers;

/**
 * Unpacks a body, off the event loop, with the unpacked size bounded while unpacking (EDGE-3): a bomb costs no more than
 * the largest body does.
 */
export async function unpack(
  packed: Buffer,
  encoding: Encoding,
  mostBytes: number,
): Promise<Buffer | 'too_large' | 'bad_body'> {
  try {
    return await unpackers[encoding](packed, { maxOutputLength: mostBytes });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'bad_body';
  }
}
