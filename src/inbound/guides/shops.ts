import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Shops and the sites around them. */
export const shopGuides: Readonly<Record<string, Guide>> = {
  shopify: {
    steps: [
      'For an app, make the subscription with the GraphQL call `webhookSubscriptionCreate`, `{url}` as the address and JSON as the format, or name it in `shopify.app.toml` and deploy.',
      'For a single shop without an app go to **Settings**, **Notifications**, **Webhooks**, **Create webhook**.',
      'Choose the event and the format JSON, paste `{url}` into **URL**, and save.',
      'Click **Send test** in the menu of the webhook.',
    ],
    secret:
      'For an app, its client secret, as it stands. For webhooks made in the settings of a shop, the key that the page **Webhooks** shows below the list.',
    retries: 'Eight further tries within 4 h; Shopify waits 1 s for the connection and 5 s in all.',
    ifDown:
      'Nothing is lost within 4 h. A subscription made by API is deleted after eight failures in a row: make it again, then read what has changed since by API (`updated_at` of orders, products, customers).',
    notes: [
      'After a new client secret Shopify may sign with the former one for up to an hour: list both files under `secretFile`.',
      'A delivery and an event have an id each; several subscriptions bring the same event. Posthorn keeps both ids.',
      'The time in `X-Shopify-Triggered-At` is not signed, so it is not checked.',
      'The order of events is not kept.',
    ],
    unchecked: [
      "Not checked against the provider's documents: which of the two ids marks a copy; its pages differ. Posthorn goes by subscription and event together.",
      uncheckedLabels,
    ],
  },
  woocommerce: {
    steps: [
      'In WordPress go to **WooCommerce**, **Settings**, **Advanced**, **Webhooks**, **Add webhook**.',
      'Type a **Name**, set **Status** to **Active**, and choose the **Topic**.',
      'Paste `{url}` into **Delivery URL** and the secret into **Secret**.',
      'Click **Save webhook**.',
    ],
    secret:
      'A text that you make yourself of letters and digits alone, for example with `openssl rand -hex 32`, and paste into **Secret**. Characters such as `&` or `<` are changed by WordPress on the way.',
    retries: 'None: each event is sent once.',
    ifDown:
      'Events of that time are lost, and after more than five failures in a row the webhook is disabled. Set **Status** to **Active** again, then read what has changed by API (`GET /wp-json/wc/v3/orders` with `modified_after`, and likewise for products and customers).',
    notes: [
      'When the webhook is saved, WooCommerce sends a form with `webhook_id` and without signature. Posthorn answers it and runs no handler.',
      'The delivery id is new on every try. Posthorn goes by webhook, topic and body.',
      'WooCommerce counts 300 to 302 as success: do not put a redirect in front of Posthorn.',
      'Deliveries wait for the scheduled tasks of WordPress; on a quiet site they may be late.',
    ],
    unchecked: [uncheckedLabels],
  },
  webflow: {
    steps: [
      'In Webflow open **Site settings**, **Apps & integrations**, **Webhooks**, **Add webhook**.',
      'Choose the trigger type, paste `{url}`, and save.',
      'Copy the secret of the new webhook when it is shown.',
      'For an app make the webhook by API instead: `POST /v2/sites/{site_id}/webhooks` with `triggerType` and `url` set to `{url}`.',
    ],
    secret:
      'For a webhook made in the site settings, its own secret, as shown. For one made by an app, the client secret of the app.',
    retries: 'Three further tries, 10 minutes apart.',
    ifDown:
      'An outage of more than half an hour loses events. Read form submissions, orders and items by API and compare.',
    notes: [
      'The timestamp is in milliseconds and part of the signature; `toleranceSeconds` is 300 by default.',
      'Events have no id: Posthorn goes by their content.',
      'Webhooks made with a site token or before the year 2024 may not be signed; make them anew.',
    ],
    unchecked: [
      "Not checked against the provider's documents: the three further tries at 10 minutes and the 30 s for an answer. A notice of the provider speaks of three tries in all.",
      "Not checked against the provider's documents: which webhooks are signed, and that a new signature is made for each try. If late tries are refused as too old, raise `toleranceSeconds` to 3600.",
      uncheckedLabels,
    ],
  },
};
