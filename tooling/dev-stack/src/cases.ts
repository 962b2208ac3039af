import { convertedLead } from "./cases/converted-lead.ts";
import { messageCases } from "./cases/messages.ts";
import { renamedOrder } from "./cases/renamed-order.ts";
import type { SampleCase } from "./sample-case.ts";

/** What the sample product does, in turn. */
export const SAMPLE_CASES: readonly SampleCase[] = [...messageCases, renamedOrder, convertedLead];
