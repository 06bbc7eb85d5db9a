import type { Random } from './random.ts';

/**
 * Which faults there are and in which order they come. Three lanes run side by side, each one fault after the other:
 * what kills processes, what is done to PostgreSQL, and the long ones. Each deals its deck shuffled, again and again, so
 * that every kind comes equally often; waits, lengths and targets are drawn from the same seed.
 */
export const decks = {
  processes: ['gateway killed', 'worker killed', 'worker child killed'],
  postgres: [
    'postmaster killed',
    'postmaster killed',
    'postmaster killed',
    'restarted fast',
    'restarted immediate',
    'connections cut',
    'paused',
    'read-only',
    'disk full',
  ],
  long: ['worker paused beyond its lease', 'postgres paused beyond the lease'],
} as const;

export type Lane = keyof typeof decks;
export type FaultKind = (typeof decks)[Lane][number];

export type Fault = {
  readonly kind: FaultKind;
  /** Before it begins, counted from the end of the lane's fault before. */
  readonly waitMs: number;
  /** How long a lasting fault stays. */
  readonly forMs: number;
  /** Which of the two processes of the kind is meant, if it can be met. */
  readonly which: 0 | 1;
};

/** The requirement that each kind belongs to. */
export function requirementOf(kind: FaultKind): 'SAFE-1' | 'SAFE-2' {
  return (decks.processes as readonly string[]).includes(kind) ? 'SAFE-1' : 'SAFE-2';
}

/** A run of up to a minute is `brief`: each kind once in a deck, little waiting, and nothing that outlasts a lease. */
export function lanesOf(isBrief: boolean): Lane[] {
  return isBrief ? ['processes', 'postgres'] : ['processes', 'postgres', 'long'];
}

/** The kinds of a lane's deck, each once, without those that this machine cannot do. */
export function kindsOf(lane: Lane, leftOut: ReadonlySet<FaultKind>): FaultKind[] {
  return [...new Set<FaultKind>(decks[lane])].filter((kind) => !leftOut.has(kind));
}

/** The endless row of a lane's faults; the same seed gives the same row. */
export function* dealFaults(
  lane: Lane,
  { random, isBrief, leftOut }: { random: Random; isBrief: boolean; leftOut: ReadonlySet<FaultKind> },
): Generator<Fault, never> {
  const draw = random.fork(lane);
  const deck = isBrief ? kindsOf(lane, leftOut) : decks[lane].filter((kind) => !leftOut.has(kind));
  for (;;) {
    for (const kind of draw.shuffled(deck)) {
      const [waitMs, forMs] = paceOf(lane, isBrief).map(([least, most]) => draw.between(least, most));
      yield { kind, waitMs: waitMs as number, forMs: forMs as number, which: draw.pick([0, 1] as const) };
    }
  }
}

type Span = readonly [least: number, most: number];

/** Waits and lengths in milliseconds. A long fault outlasts the lease of 30 s. */
function paceOf(lane: Lane, isBrief: boolean): readonly [wait: Span, length: Span] {
  if (lane === 'long')
    return [
      [20_000, 70_000],
      [33_000, 42_000],
    ];
  if (isBrief)
    return [
      [700, lane === 'processes' ? 4_000 : 2_000],
      [700, 1_800],
    ];
  return lane === 'processes'
    ? [
        [1_500, 8_000],
        [0, 0],
      ]
    : [
        [1_000, 6_000],
        [1_000, 5_000],
      ];
}
