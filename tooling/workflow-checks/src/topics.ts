/** Tests that a topic rests on: all of a file, or those whose name says one of these. */
export interface Evidence {
  readonly file: string;
  readonly named?: RegExp;
}

export interface Topic {
  readonly name: string;
  /** Each of them has to have a test that passed. */
  readonly evidence: readonly Evidence[];
}

/** What has to be proven before workflows are handed to workers. */
export const TOPICS: readonly Topic[] = [
  {
    name: "routing",
    evidence: [
      { file: "packages/event-router/test/router.unit.test.ts", named: /workflow\.\S+ goes to outbox\.workflow/ },
      { file: "packages/workflow/test/triggers.int.test.ts" },
    ],
  },
  {
    name: "consumer bootstrap",
    evidence: [{ file: "apps/worker-general/test/workflow-bootstrap.int.test.ts" }],
  },
  {
    name: "executor selection",
    evidence: [{ file: "packages/workflow/test/executors.int.test.ts" }],
  },
  {
    name: "credential-free boundary",
    evidence: [
      { file: "tooling/workflow-checks/test/credential-free.unit.test.ts" },
      { file: "packages/workflow/test/executors.int.test.ts", named: /no access to credentials/ },
      { file: "apps/web/test/credential-boundary.unit.test.ts" },
    ],
  },
  {
    name: "health",
    evidence: [{ file: "apps/worker-general/test/bad-env.e2e.test.ts", named: /and names the setting/ }],
  },
  {
    name: "queued producers",
    evidence: [
      { file: "tooling/workflow-checks/test/source-inventory.unit.test.ts" },
      { file: "apps/web/test/runs.int.test.ts", named: /published and not executed|neither executes anything here/ },
      { file: "apps/web/test/inputs.int.test.ts", named: /a worker goes on once/ },
    ],
  },
];
