/** What is wrong with an expression, and where: the place in its source, counted from 0; null when it is nowhere in particular. */
export class ExpressionProblem extends Error {
  readonly offset: number | null;
  readonly expected: string;
  readonly got: string;

  constructor(offset: number | null, expected: string, got: string) {
    super(`expected ${expected}, got ${got}`);
    this.name = "ExpressionProblem";
    this.offset = offset;
    this.expected = expected;
    this.got = got;
  }
}
