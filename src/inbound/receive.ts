import type { ArrivalWay, Envelope } from '../core/envelope.ts';
import { impossible, type ReceiveOutcome } from '../core/outcome.ts';
import { readContent } from './content.ts';
import { handshakes } from './handshakes/index.ts';
import type { Journal } from './journal.ts';
import { type Judgement, nothing, reject, rowOf, type ShakeReply } from './journal-row.ts';
import { type JudgeDeps, judge, judgeProbe } from './judge.ts';
import type { InboundGroup } from './settings.ts';
import type { Source, Sources } from './sources.ts';

/** A request whose head has arrived. The body is read only when the gates before it have passed. */
export type Arrival = Omit<Envelope, 'body'> & {
  /** The code of the source, as the sender named it. */
  readonly source: string;
  readonly via: ArrivalWay;
  /** The sender's address, null where it is unknown. */
  readonly clientIp: string | null;
  /** Reads at most `mostBytes`; `busy` where there is no memory left for it. */
  readBody(mostBytes: number): Promise<Buffer | 'too_large' | 'busy' | 'aborted'>;
  /** Takes memory for what a body unpacks to, until the request is answered; false where there is none left. */
  reserve(bytes: number): boolean;
};

/** The outcome, and what the sender is told where that is not the outcome's usual answer. */
export type Receipt = {
  readonly outcome: ReceiveOutcome;
  readonly reply?: ShakeReply | undefined;
  /** The methods that the source takes; with `method_not_allowed`. */
  readonly allow?: string;
};

export type Receive = (arrival: Arrival) => Promise<Receipt>;

/**
 * The one door into the journal: the ladder of IN-1, each gate with its own answer. An outcome that acknowledges
 * (`accepted`, `duplicate`, `skipped`) is given only after the row is committed. No handler's code runs in here, and
 * nothing calls out but for a certificate that is not known yet.
 */
export function createReceive(
  deps: JudgeDeps & { group: InboundGroup; sources: Sources; journal: Journal },
): Receive {
  const { group, sources, journal } = deps;
  return async function receive(arrival) {
    if (!group.enabled) return { outcome: 'disabled' };
    const source = sources.find(arrival.source, arrival.clientIp);
    if (source === undefined) return { outcome: 'unknown_source' };
    const judgement =
      arrival.method === 'POST'
        ? await judgePost(arrival, source, deps)
        : await judgeProbe(arrival, source, deps);
    if (judgement === 'method_not_allowed') return { outcome: judgement, allow: methodsOf(source) };
    if (typeof judgement === 'string') return { outcome: judgement };

    const recorded = await journal.record(rowOf(arrival, source, judgement));
    // A refusal stays one whether or not its row could be written: nothing is acknowledged by it.
    if (judgement.status === 'rejected') return { outcome: judgement.reason };
    if (judgement.reply === undefined && judgement.status === 'handshake')
      return { outcome: 'handshake_refused' };
    const { reply } = judgement;
    switch (recorded) {
      case 'recorded':
        return { outcome: judgement.status, reply };
      case 'duplicate':
        return { outcome: recorded, reply };
      case 'unstorable':
      case 'unavailable':
        return { outcome: recorded };
      default:
        return impossible(recorded);
    }
  };
}

async function judgePost(
  arrival: Arrival,
  source: Source,
  deps: JudgeDeps,
): Promise<Judgement | 'aborted' | 'unavailable' | 'unsupported_encoding'> {
  const content = await readContent(arrival, source);
  switch (content) {
    case 'busy':
      return 'unavailable';
    case 'aborted':
    case 'unsupported_encoding':
      return content;
    case 'too_large':
      return reject(content, nothing, { arrival, source });
    default:
      return judge(arrival, source, content, deps);
  }
}

function methodsOf({ provider }: Source): string {
  const shake = provider?.handshake;
  return ['POST', ...(shake === undefined ? [] : handshakes[shake].methods)].join(', ');
}
