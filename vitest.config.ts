import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source", "node", "import", "default"] } },
  test: {
    include: ["{apps,packages,tooling}/*/{src,test}/**/*.{unit,int,e2e}.test.ts"],
    pool: "forks",
    execArgv: ["--conditions=source"],
    globalSetup: ["tooling/testkit/src/global-setup.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
  },
});
