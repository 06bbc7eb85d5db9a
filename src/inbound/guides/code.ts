import type { Guide } from './guide.ts';
import { uncheckedLabels } from './unchecked-labels.ts';

/** Where code lives and is built. */
export const codeGuides: Readonly<Record<string, Guide>> = {
  github: {
    steps: [
      'Open the repository, or the organisation, and go to **Settings**, **Webhooks**, **Add webhook**.',
      'Paste `{url}` into **Payload URL**.',
      'Choose `application/json` as the **Content type**.',
      'Paste the secret into **Secret** and leave SSL verification on.',
      'Choose the events and click **Add webhook**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`. The same text goes into the file and into **Secret**; GitHub does not show it again.',
    retries: 'None: GitHub sends each delivery once, and takes no answer within 10 s as a failure.',
    ifDown:
      'Every delivery of that time fails and stays at GitHub for 3 days (7 days on GitHub Enterprise Server). Until then open the webhook, **Recent deliveries**, choose the delivery and click **Redeliver**, or list the failed ones and call `POST /repos/{owner}/{repo}/hooks/{hook_id}/deliveries/{delivery_id}/attempts`. What is older has to be read from the API.',
    notes: [
      'A redelivery carries the id of the first one, so what has already arrived is not processed twice.',
      'The `ping` that GitHub sends when a webhook is made is stored as skipped; it runs no handler.',
      'GitHub Enterprise Server waits 30 s for the answer instead of 10 s.',
    ],
    unchecked: [
      "Not checked against the provider's documents: in form mode GitHub signs the whole form body. Choose `application/json`, and it does not matter.",
      "Not checked against the provider's documents: that the `ping` is signed. If it is refused, push a commit as the test.",
      "Not checked against the provider's documents: payloads over 25 MB are not sent at all. What they would have told has to be read from the API.",
    ],
  },
  gitlab: {
    steps: [
      'Open the project or group and go to **Settings**, **Webhooks**, **Add new webhook**.',
      'Paste `{url}` into **URL**.',
      'Paste the secret into **Secret token**.',
      'Choose the events under **Trigger**, leave **Enable SSL verification** on, and click **Add webhook**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`. The same text goes into the file and into **Secret token**; GitLab does not show it again.',
    retries: 'GitLab waits 10 s for an answer and does not send a failed request again by itself.',
    ifDown:
      'Each event is lost unless it is sent again by hand: open the webhook, **Recent events**, **View details**, **Resend Request**, or call `POST /projects/:id/hooks/:hook_id/events/:hook_event_id/resend`. After 4 failures in a row GitLab pauses the webhook, for a minute at first and up to 24 h later; events of the pause are not sent and are not in that list. After 40 in a row it stays off: send a test from the webhook page to switch it on again.',
    notes: [
      'The token travels in clear in `X-Gitlab-Token` and nothing is signed: whoever sees one request can send others. Use the scheme `gitlab-signed` where your GitLab offers a signing token.',
      'Payloads go up to 25 MB; raise `maxPayloadKb` if large pushes are refused.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that nothing is sent again by itself, and the numbers 4 and 40 for a self-managed GitLab, where pausing is a switch of the administrator.",
      "Not checked against the provider's documents: how long **Recent events** reaches back; expect a few days.",
      "Not checked against the provider's documents: that webhooks which set off each other share one `X-Gitlab-Event-UUID`. Posthorn uses `Idempotency-Key` where it is sent; if different events count as one on an old GitLab, set `dedupe: body`.",
    ],
  },
  'gitlab-signed': {
    steps: [
      'Open the project or group and go to **Settings**, **Webhooks**, **Add new webhook**.',
      'Paste `{url}` into **URL**.',
      'Make a signing token, or paste one of your own, in the field **Signing token**.',
      'Choose the events under **Trigger** and click **Add webhook**.',
      'Set `scheme: gitlab-signed` for the source.',
    ],
    secret:
      'The signing token as GitLab has it: `whsec_` and 32 bytes in base64. Copy it when it is made; neither the page nor the API shows it afterwards. Your own can be made with `printf "whsec_%s" "$(openssl rand -base64 32)"`.',
    retries:
      'As with the secret token: no answer within 10 s is a failure, and it is not sent again by itself.',
    ifDown:
      'As with the secret token: use **Recent events**, **View details**, **Resend Request** for each event, soon; a webhook with 4 failures in a row is paused for up to 24 h, and events of the pause are never sent.',
    notes: [
      'The signing token is not the secret token: a source with this scheme takes no notice of `X-Gitlab-Token`.',
      'The timestamp is part of the signature; `toleranceSeconds` is 300 by default, so the clock of the server must be right.',
    ],
    unchecked: [
      "Not checked against the provider's documents: whether GitLab uses the token as text or decodes the base64 behind `whsec_`. Its form speaks for `key: base64`; if every request is refused, try `key: text`.",
      "Not checked against the provider's documents: the label **Signing token**, and from which version it is there. Where it is missing, an administrator has to switch it on, or use the scheme `gitlab`.",
    ],
  },
  bitbucket: {
    steps: [
      'Open the repository and go to **Repository settings**, **Webhooks**, **Add webhook**.',
      'Type a **Title** and paste `{url}` into **URL**.',
      'Paste the secret into **Secret**.',
      'Choose the events under **Triggers** and click **Save**.',
      'Open **View requests** of the new webhook and click **Enable history**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**. Bitbucket does not show it again.',
    retries: 'Few, and only within a short time; see below for the number.',
    ifDown:
      'What fails after these tries is not sent again by itself. With the history on, **View requests** lists each request with its outcome; read what is missing from the API (commits, pull requests).',
    notes: [
      'The header is called `X-Hub-Signature` without `-256`, yet the hash is SHA-256.',
      'Payloads over 256 KB are not sent, without any notice.',
      'The history has to be switched on before something goes wrong.',
    ],
    unchecked: [
      "Not checked against the provider's documents: two further tries, and 10 s for the answer. A longer outage loses events either way.",
    ],
  },
  'bitbucket-server': {
    steps: [
      'Open the repository or project and go to **Repository settings** (or **Project settings**), **Webhooks**, **Create webhook**.',
      'Type a **Name**, paste `{url}` into **URL** and the secret into **Secret**.',
      'Click **Test connection**.',
      'Choose the events and click **Create**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**.',
    retries: 'None that is documented: expect that each event is sent once.',
    ifDown:
      'Events of that time are lost. The page of the webhook shows the last request and how many failed; read the rest (commits, pull requests) from the REST API.',
    notes: [
      'The header is called `X-Hub-Signature`, and the hash is SHA-256.',
      'The test sends the event `diagnostics:ping`; Posthorn checks its signature like any other.',
    ],
    unchecked: [
      uncheckedLabels,
      "Not checked against the provider's documents: that the test is signed. If **Test connection** is refused, save the webhook and push a commit instead.",
    ],
  },
  gitea: {
    steps: [
      'Open the repository or organisation and go to **Settings**, **Webhooks**, **Add Webhook**, **Gitea**.',
      'Paste `{url}` into **Target URL** and leave the method at `POST`.',
      'Choose `application/json` as the **POST Content Type**.',
      'Paste the secret into **Secret**, choose the events, and click **Add Webhook**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**.',
    retries: 'None by itself.',
    ifDown:
      'Events of that time fail and stay in the list **Recent Deliveries** of the webhook; each has a button that sends it again. What the list no longer holds has to be read from the API.',
    notes: [
      'In form mode Gitea signs the decoded field `payload`, not the form; choose `application/json`.',
      'Without a secret Gitea sends empty signature headers. Posthorn takes these as not signed and refuses.',
      'A Gitea that is to reach a private address needs it in `ALLOWED_HOST_LIST` of the section `[webhook]` in `app.ini`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that nothing is sent again by itself, and that Gitea waits 5 s for an answer. If it does send again, nothing is processed twice.",
      uncheckedLabels,
    ],
  },
  forgejo: {
    steps: [
      'Open the repository or organisation and go to **Settings**, **Webhooks**, **Add webhook**, **Forgejo**.',
      'Paste `{url}` into **Target URL** and leave the method at `POST`.',
      'Choose `application/json` as the **POST content type**.',
      'Paste the secret into **Secret**, choose the events, and click **Add webhook**.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret**.',
    retries: 'None by itself.',
    ifDown:
      'Events of that time fail and stay in **Recent deliveries** of the webhook, where each can be sent again by its button. Older ones have to be read from the API.',
    notes: [
      'In form mode the decoded field `payload` is signed, not the form; choose `application/json`.',
      'Forgejo sends the headers of Gitea and GitHub too; Posthorn looks at `X-Forgejo-Signature` alone.',
      'A private address needs an entry in `ALLOWED_HOST_LIST` of the section `[webhook]` in `app.ini`.',
    ],
    unchecked: [
      "Not checked against the provider's documents: that Forgejo repeats and waits as Gitea does (never, 5 s). If it does send again, nothing is processed twice.",
      uncheckedLabels,
    ],
  },
  circleci: {
    steps: [
      'Open the project and go to **Project Settings**, **Webhooks**, **Add Webhook**.',
      'Type a name, and paste `{url}` into **Receiver URL**.',
      'Paste the secret into **Secret token** and leave **Certificate verification** on.',
      'Choose **Workflow Completed**, **Job Completed** or both, and click **Add Webhook**.',
      'Send a test event from the page.',
    ],
    secret:
      'A text that you make yourself, for example with `openssl rand -hex 32`, and paste into **Secret token**.',
    retries: 'A request without a 2xx within 10 s is sent again later; how often is not said.',
    ifDown:
      'Wait for the further tries first. What is still missing has to be read from the API: list the pipelines of the project and their workflows and jobs.',
    notes: [
      'A project has at most five webhooks.',
      'The header may carry several versions of the signature; Posthorn looks at `v1` and passes over versions that it does not know.',
    ],
    unchecked: [uncheckedLabels],
  },
  'azure-devops': {
    steps: [
      'Open the project and go to **Project settings**, **Service hooks**, **Create subscription**.',
      'Choose **Web Hooks**, click **Next**, choose the event under **Trigger**, and click **Next**.',
      'Paste `{url}` into **URL**; it must begin with `https`.',
      'Type the name and the password into **Basic authentication username** and **Basic authentication password**.',
      'Click **Test**, then **Finish**.',
    ],
    secret:
      'One line, `name:password`, both of your own choice, the password at least 16 characters; the same two go into the two fields of the subscription. The first colon separates them, so the name holds none.',
    retries: 'Some, until the subscription is put on probation; the numbers are not certain.',
    ifDown:
      'Choose the subscription under **Service hooks** and click **History**: it shows each request with its answer. A subscription that failed too often is shown as restricted or disabled; enable it again there. Read what is missing from the REST API.',
    notes: [
      'Nothing is signed: the password alone proves the sender, so use `https` only.',
      'Azure DevOps does not send to private or loopback addresses.',
      '**Resource details to send** decides how much of the object is in the body.',
    ],
    unchecked: [
      "Not checked against the provider's documents: how often a request is repeated, and that `notificationId` is new for each delivery. Posthorn goes by `id`; if different events count as one, set `dedupe: body`.",
    ],
  },
};
