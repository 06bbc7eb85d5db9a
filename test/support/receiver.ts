import { writeFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import { afterEach } from 'vitest';
import { useFileHandlers } from './file-handlers.ts';
import { type Answering, okAnswer, type StandInTarget, startTarget } from './stand-in-target.ts';
import { useWorkers } from './worker.ts';

export const receiverSecrets = [
  'a-secret-of-the-receiver-0123456789',
  'the-next-secret-of-the-receiver-012',
] as const;

/** Registers hooks: receivers on loopback with an http handler each, in a database with events. */
export function useReceivers() {
  const workers = useWorkers();
  const files = useFileHandlers(workers.clock);
  let targets: StandInTarget[] = [];
  afterEach(async () => {
    for (const target of targets) await target.close();
    targets = [];
  });
  /** A receiver, and a worker whose handler forwards to it; `secret` and `next` are its secret files. */
  const receive = async (
    answering: Answering = okAnswer,
    { log, ...http }: Record<string, unknown> & { log?: Parameters<typeof files.make>[1] } = {},
  ) => {
    const target = await startTarget(answering);
    targets.push(target);
    writeFileSync(files.path('secret'), `${receiverSecrets[0]}\n`, { mode: 0o600 });
    writeFileSync(files.path('next'), receiverSecrets[1], { mode: 0o600 });
    const url = `http://127.0.0.1:${target.port}/hooks`;
    const made = await files.make({ http: { url, secretFile: 'secret', ...http } }, log);
    const worker = await workers.start(made);
    const tryAgain = async () => {
      await worker.round();
      await worker.idle();
    };
    return { target, worker, tryAgain };
  };
  return { ...workers, path: files.path, receive };
}

/** Head and body of a request as it came. */
export function parseRequest(request = '') {
  const end = request.indexOf('\r\n\r\n');
  const [line = '', ...lines] = request.slice(0, end).split('\r\n');
  const pairs = lines.map((header) => header.split(/: (.*)/s).slice(0, 2) as [string, string]);
  const body = Buffer.from(request.slice(end + 4), 'latin1');
  return { line, pairs, headers: Object.fromEntries(pairs) as Record<string, string>, body };
}

/** Throws unless the `standardwebhooks` library takes the request, at the time that it has `now` as its own. */
export function verifyRequest(request: string | undefined, secret: string, now: number, body?: string): void {
  const parsed = parseRequest(request);
  const real = Date.now;
  Date.now = () => now;
  try {
    const receiver = new Webhook(Buffer.from(secret).toString('base64'));
    receiver.verify(body ?? parsed.body.toString('utf8'), parsed.headers);
  } finally {
    Date.now = real;
  }
}

export const answerWith = (status: number, headers = '', body = '') =>
  `HTTP/1.1 ${status} X\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
