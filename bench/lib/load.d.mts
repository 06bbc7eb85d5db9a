export type LoadOrder = {
  port: number;
  path: string;
  connections: number;
  seconds: number;
  warmupSeconds?: number;
  /** Base64, sent in turn. */
  bodies: string[];
  secret: string;
  /** Requests a second over all connections; none = as fast as answers come. */
  rate?: number;
  /** Looks at its sockets four times a millisecond instead of being woken by each answer. */
  polling?: boolean;
};

export type LoadReport = {
  requests: number;
  perSecond: number;
  failed: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
};
