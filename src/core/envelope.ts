/**
 * A request as it arrived. Nothing in it has been decoded, joined or normalised: signatures are made over these bytes.
 * The relay hands over the same shape, so that there is one door (inbound/receive).
 */
export type Envelope = {
  /** Upper-case HTTP method. */
  readonly method: string;
  /** The query string as it arrived, without the question mark; empty if there was none. */
  readonly query: string;
  /** Name, value, name, value ... in the order of arrival, repeated names kept (Node's `rawHeaders`). */
  readonly rawHeaders: readonly string[];
  /** The bytes that arrived. */
  readonly body: Buffer;
  /** When the head of the request arrived, milliseconds since 1970. Signature windows lie around it. */
  readonly receivedAt: number;
};

/** How a request reached us; `reconcile` means that we fetched it ourselves. */
export const arrivalWays = ['direct', 'relay', 'reconcile'] as const;
export type ArrivalWay = (typeof arrivalWays)[number];
