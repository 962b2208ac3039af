import { relative } from "node:path/posix";
import { createEvidenceRecorder, type EvidenceRecorder, type FileRun } from "@toolctrl/consumer-map/evidence";
import type { Reporter, TestModule, TestRunEndReason, TestSpecification, Vitest } from "vitest/node";

/**
 * Writes down what a run of the tests proves of the consumers. Only files that ran as a whole count: a run of single tests says nothing
 * of the others, and an interrupted one nothing at all.
 */
export default class EvidenceReporter implements Reporter {
  readonly #recorder: EvidenceRecorder = createEvidenceRecorder();
  readonly #inPart = new Set<string>();
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    const whole = specifications.filter((specification) => {
      const inPart = this.#isFiltered() || isFiltered(specification);
      if (inPart) this.#inPart.add(specification.moduleId);
      return !inPart;
    });
    this.#recorder.begin(whole.map(({ moduleId }) => this.#pathOf(moduleId)));
  }

  async onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: TestRunEndReason): Promise<void> {
    if (reason === "interrupted") return;
    const runs = modules.filter(({ moduleId }) => !this.#inPart.has(moduleId)).flatMap((module) => this.#runOf(module) ?? []);
    const changed = await this.#recorder.end(runs, new Date());
    if (changed.length > 0) {
      this.#vitest?.logger.warn(
        `not written down as evidence, because the code changed while the tests ran or is gone: ${changed.join(", ")}`,
      );
    }
  }

  #isFiltered(): boolean {
    return this.#vitest?.getGlobalTestNamePattern() !== undefined || (this.#vitest?.config.tagsFilter ?? []).length > 0;
  }

  #pathOf(moduleId: string): string {
    return relative(this.#vitest?.config.root ?? "", moduleId);
  }

  #runOf(module: TestModule): FileRun | null {
    const result = module.state();
    if (result === "pending" || result === "queued") return null;
    const tests = [...module.children.allTests()].map((test) => ({ name: test.fullName, result: test.result().state }));
    // Whoever stopped before all had run cannot say how the rest would have ended.
    if (tests.some((test) => test.result === "pending")) return null;
    return { file: this.#pathOf(module.moduleId), result, tests: tests as FileRun["tests"] };
  }
}

/** Whether some tests of the file are left out by the command that started the run. */
function isFiltered({ testLines = [], testNamePattern, testIds = [], testNames = [], testTagsFilter = [] }: TestSpecification): boolean {
  return testNamePattern !== undefined || [testLines, testIds, testNames, testTagsFilter].some((filter) => filter.length > 0);
}
