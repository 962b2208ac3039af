# One image for migrate, worker-general, worker-mail, web and toolctrl-cli; the compose files choose by `command`.
#
# `pnpm image:steps` runs these very instructions in a folder, without an engine. So each RUN is one plain command with relative paths,
# and each instruction is one that it knows. The versions are those of package.json and of the catalog; tooling/deploy-check compares them.

FROM node:24.21.0-bookworm-slim AS tools
RUN npm install --global pnpm@12.4.2 turbo@2.11.11
ENV CI=true TURBO_TELEMETRY_DISABLED=1
WORKDIR /src

# The part of the workspace that the apps need. A change elsewhere leaves the layers below as they are.
FROM tools AS pruned
COPY . .
RUN turbo prune @toolctrl/image @toolctrl/tsup @toolctrl/tsconfig --docker

FROM tools AS built
COPY --from=pruned /src/out/json/ ./
COPY .pnpmfile.mjs ./
RUN pnpm install --frozen-lockfile
COPY --from=pruned /src/out/full/ ./
# What the tests of this version have proven, where they have run: without it the rollout gate keeps pull workers off. Prune leaves it out.
COPY packages/consumer-map/package.json packages/consumer-map/evidence.json* packages/consumer-map/
RUN pnpm build
RUN pnpm --filter @toolctrl/image deploy --prod ../image

FROM node:24.21.0-bookworm-slim AS image
ENV NODE_ENV=production
WORKDIR /app
COPY --from=built /image/ ./
USER node
# Node itself is the first process, so that SIGTERM reaches it: a shell or a package manager would keep the signal.
ENTRYPOINT ["node"]
CMD ["node_modules/@toolctrl/cli/dist/main.js", "--help"]
