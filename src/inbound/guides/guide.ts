/** How a person sets up one sender: the words of docs/sources and of the UI. `{url}` stands for the URL of the source. */
export type Guide = {
  /** Where at the provider the webhook is made, one step each, in the order of clicking. */
  readonly steps: readonly string[];
  /** What goes into the file of the secret, and where the provider shows it. */
  readonly secret: string;
  /** How often and for how long the sender repeats what was not taken. */
  readonly retries: string;
  /** What is lost while Posthorn cannot be reached, and how to get it back. */
  readonly ifDown: string;
  /** What surprises people with this sender. */
  readonly notes?: readonly string[];
  /** What could not be checked at the provider, and what to do if it is otherwise. */
  readonly unchecked?: readonly string[];
};
