/** What the process tells a script. docs/reference/cli.md and --help list them. */
export const EXIT = { ok: 0, failure: 1, usage: 2, notFound: 3, refused: 4, partial: 5, red: 6 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

export const EXIT_CODES_HELP = `
Exit codes:
  0  done
  1  failed: the database or the queue did not answer, or the state found is not sound
  2  bad arguments, environment, definition or answer; nothing was done
  3  not found: no such event, workflow, run, question or audit chain
  4  refused: the state of the event, workflow, run or question does not allow it, or the operator said no
  5  partly done: some events were changed, others were not
  6  the rollout gate is red
`;
