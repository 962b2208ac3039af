import { askedDemo } from "./cases/asked-demo.ts";
import { convertedLead } from "./cases/converted-lead.ts";
import { editedArticle } from "./cases/edited-article.ts";
import { messageCases } from "./cases/messages.ts";
import { paidPurchase } from "./cases/paid-purchase.ts";
import { renamedOrder } from "./cases/renamed-order.ts";
import { sentForm } from "./cases/sent-form.ts";
import { writtenDigest } from "./cases/written-digest.ts";
import type { SampleCase } from "./sample-case.ts";

/** What the sample product does, in turn. Together they take every route. */
export const SAMPLE_CASES: readonly SampleCase[] = [
  ...messageCases,
  editedArticle,
  sentForm,
  renamedOrder,
  convertedLead,
  askedDemo,
  paidPurchase,
  writtenDigest,
];
