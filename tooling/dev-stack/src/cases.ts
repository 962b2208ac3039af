import { convertedLead } from "./cases/converted-lead.ts";
import { editedArticle } from "./cases/edited-article.ts";
import { messageCases } from "./cases/messages.ts";
import { renamedOrder } from "./cases/renamed-order.ts";
import { sentForm } from "./cases/sent-form.ts";
import { shippedParcel } from "./cases/shipped-parcel.ts";
import type { SampleCase } from "./sample-case.ts";

/** What the sample product does, in turn. Together they take every route. */
export const SAMPLE_CASES: readonly SampleCase[] = [...messageCases, editedArticle, sentForm, renamedOrder, convertedLead, shippedParcel];
