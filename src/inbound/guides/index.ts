import { billingGuides } from './billing.ts';
import { chatGuides } from './chat.ts';
import { cloudGuides } from './clouds.ts';
import { codeGuides } from './code.ts';
import { formAndSupportGuides } from './forms-and-support.ts';
import type { Guide } from './guide.ts';
import { mailGuides } from './mail.ts';
import { paymentGuides } from './payments.ts';
import { shopGuides } from './shops.ts';
import { socialGuides } from './social.ts';
import { standardGuides } from './standards.ts';
import { workToolGuides } from './work-tools.ts';

export type { Guide } from './guide.ts';

/** One guide a scheme by name; the keys are the names of the schemes. */
export const guides: Readonly<Record<string, Guide>> = {
  ...codeGuides,
  ...paymentGuides,
  ...billingGuides,
  ...chatGuides,
  ...socialGuides,
  ...mailGuides,
  ...shopGuides,
  ...workToolGuides,
  ...formAndSupportGuides,
  ...cloudGuides,
  ...standardGuides,
};
