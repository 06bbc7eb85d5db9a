import type { Socket } from 'node:net';
import type { Client } from 'undici';

/** A connection that one request at a time may use. `key` names its origin and the address that it leads to. */
export type Connection = { readonly key: string; readonly client: Client; readonly socket: Socket };

export type Pool = {
  /** An unused connection with one of these keys, which is the caller's from then on. */
  take(keys: readonly string[]): Connection | undefined;
  give(connection: Connection): void;
  close(): void;
};

/**
 * Connections that nobody uses at the moment. Whoever wants one asks with the addresses of a fresh look-up, so that no
 * connection outlives its address being allowed (EGR-12). The client closes them when they were unused for too long.
 */
export function createPool(): Pool {
  const unused = new Map<Connection, () => void>();
  return {
    take: (keys) => {
      for (const [connection, forget] of unused) {
        if (!keys.includes(connection.key)) continue;
        forget();
        return connection;
      }
      return undefined;
    },
    give: (connection) => {
      if (connection.socket.destroyed) return discard(connection);
      const forget = () => {
        unused.delete(connection);
        connection.socket.off('close', forget);
      };
      connection.socket.on('close', forget);
      unused.set(connection, forget);
    },
    close: () => {
      for (const connection of [...unused.keys()]) discard(connection);
    },
  };
}

/** The socket too: a client that has sent nothing does not know it yet. */
export function discard({ client, socket }: Connection): void {
  client.destroy().catch(() => undefined);
  socket.destroy();
}
