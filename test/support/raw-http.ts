import { connect, type Socket } from 'node:net';

/** Sends exact bytes over one connection and gives all that came back until the server closed it or went quiet. */
export function sendRaw(
  port: number,
  bytes: string | Buffer | (string | Buffer)[],
  { quietMs = 300 } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1');
    let answer = '';
    let quiet: NodeJS.Timeout | undefined;
    const finish = () => {
      clearTimeout(quiet);
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', () => {
      for (const piece of [bytes].flat()) socket.write(piece);
    });
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      clearTimeout(quiet);
      quiet = setTimeout(finish, quietMs);
    });
    socket.on('close', finish);
    socket.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ECONNRESET' || error.code === 'EPIPE' ? finish() : reject(error),
    );
  });
}

/** The status codes of the answers in what sendRaw gave. */
export function statusesOf(answer: string): number[] {
  return [...answer.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((found) => Number(found[1]));
}
