// People who send a form, some of them twice: what they send, in the order in which they do, and what has to come of it.
import { createForm, submitForm, type Form, type RouteRuleInput, type SubmittedForm } from "@toolctrl/domain/forms";
import { TENANT, type Rig } from "./rig.ts";

const IN_TX = { maxWait: 60_000, timeout: 60_000 };

/** What a person asks for decides which message is sent. */
const TOPICS = ["Demo", "Support", "Press"] as const;
type Topic = (typeof TOPICS)[number];

/** One press of the button. */
export interface Press {
  readonly person: number;
  /** The same for the second of two clicks. */
  readonly submissionKey: string;
  readonly data: { readonly name: string; readonly email?: string; readonly topic: Topic };
}

export interface PressCounts {
  readonly people: number;
  /** People who click twice: the second is no submission. */
  readonly clickTwice: number;
  /** People who fill the form in again: two submissions of one lead. */
  readonly comeAgain: number;
}

const ROUTES: RouteRuleInput[] = [
  { id: "lead", actions: [{ type: "lead", name: "name", email: "email" }] },
  {
    id: "demo",
    when: { field: "topic", equals: "Demo" },
    actions: [{ type: "mail", to: { field: "email" }, subject: "Thank you, {{ data.name }}", text: "We read about {{ data.topic }}." }],
  },
  { id: "support", when: { field: "topic", equals: "Support" }, actions: [{ type: "webhook" }] },
  {
    id: "press",
    when: { field: "topic", equals: "Press" },
    actions: [{ type: "notification", recipientId: "press", title: "{{ data.name }} asks" }],
  },
];

export function makeForm(rig: Rig): Promise<Form> {
  return rig.database.prisma.$transaction(
    (tx) =>
      createForm(tx, {
        tenantId: TENANT,
        name: "Contact",
        fields: [
          { name: "name", kind: "text", required: true },
          { name: "email", kind: "email" },
          { name: "topic", kind: "choice", choices: [...TOPICS], required: true },
        ],
        routes: ROUTES,
      }),
    IN_TX,
  );
}

/** Every twentieth person leaves no address; whoever comes again writes it otherwise. Duplicates stand beside what they repeat, so that they meet. */
export function pressesOf(counts: PressCounts, random: () => number): Press[] {
  const people = shuffled(
    Array.from({ length: counts.people }, (_, person) => person),
    random,
  );
  return people.flatMap((person, index) => {
    const place = Math.floor(random() * TOPICS.length);
    const again = index >= counts.clickTwice && index < counts.clickTwice + counts.comeAgain;
    // Who comes again is known by the address.
    const email = random() < 0.05 && !again ? {} : { email: `person-${person}@example.test` };
    const press: Press = { person, submissionKey: `${person}`, data: { name: `Person ${person}`, ...email, topic: topicAt(place) } };
    if (index < counts.clickTwice) return [press, press];
    if (!again) return [press];
    const data = { ...press.data, email: `Person-${person}@Example.test`, topic: topicAt(place + 1) };
    return [press, { ...press, submissionKey: `${person} again`, data }];
  });
}

/** The message that a submission leads to; none where there is nobody to send the mail to. */
export function messageOf({ data }: Press): "mail" | "webhook" | "notification" | null {
  switch (data.topic) {
    case "Demo":
      return data.email === undefined ? null : "mail";
    case "Support":
      return "webhook";
    default:
      return "notification";
  }
}

/** A press, and the submission that came of it. */
export interface Sent extends SubmittedForm {
  readonly press: Press;
}

/** Presses all buttons, in their order, over several connections. */
export async function pressAll(rig: Rig, form: Form, presses: readonly Press[], connections: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const queue = presses.values();
  const presser = async (): Promise<void> => {
    for (const press of queue) {
      const { data, submissionKey } = press;
      const submitted = await rig.database.prisma.$transaction(
        (tx) => submitForm(tx, { tenantId: TENANT, formId: form.id, data, submissionKey }),
        IN_TX,
      );
      sent.push({ ...submitted, press });
    }
  };
  await Promise.all(Array.from({ length: connections }, presser));
  return sent;
}

function topicAt(place: number): Topic {
  return TOPICS[place % TOPICS.length] ?? "Demo";
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((member) => ({ member, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ member }) => member);
}
