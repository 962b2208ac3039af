import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source"] },
  // Vitest hands these to Node as --conditions: with "import" among them, `require` would be given ES modules.
  ssr: { resolve: { conditions: ["source", "node"] } },
  // Where the reporter below runs.
  environments: { __vitest__: { resolve: { conditions: ["source", "node"] } } },
  test: {
    // Some end-to-end tests stand beside the code, with a name that says so after a hyphen.
    include: ["{apps,packages,tooling}/*/{src,test}/**/*{.unit,.int,.e2e,-e2e}.test.ts"],
    pool: "forks",
    execArgv: ["--conditions=source"],
    globalSetup: ["tooling/testkit/src/global-setup.ts"],
    // Beside what it prints, a run writes down what it proves of the consumers: packages/consumer-map/evidence.json.
    reporters: ["default", "./tooling/consumer-testkit/src/evidence-reporter.ts"],
    setupFiles: ["tooling/testkit/src/test-file.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Two of them at work; the third is for a file that mostly waits (tooling/testkit/src/work-slots.ts).
    maxWorkers: 3,
  },
});
