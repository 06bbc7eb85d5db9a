/** For guides whose menu labels were not compared with the provider's documents. */
export const uncheckedLabels =
  "Not checked against the provider's documents: the labels of the menus. If one has moved, look for Webhooks in the provider's settings.";
