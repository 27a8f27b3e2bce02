# One image for every service. Which one a container runs is its command:
#
#   docker build -t waybill .
#   docker run waybill apps/scheduler/dist/main.js
#   docker run --user 0 waybill apps/agent/dist/main.js
#
# Configuration comes from the environment alone (docs/kubernetes.md).

FROM node:24-bookworm-slim AS build
WORKDIR /waybill
ENV CI=1
# The whole context at once: a workspace install needs every package.json, and .dockerignore keeps the context small.
COPY . .
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts
RUN npm run build
# What only building and testing need goes, and so do the embedded nats-server and PostgreSQL. Of the packages, what node
# runs and what a stack trace reads stay: dist with its source maps.
RUN npm prune --ignore-scripts --omit=dev --omit=optional \
 && rm -rf node_modules/typescript node_modules/@typescript node_modules/.bin apps/dev libs/embedded node_modules/@waybill/dev node_modules/@waybill/embedded \
 && find libs apps \( -name '*.d.ts' -o -name '.tsbuildinfo' -o -name 'tsconfig.json' \) -not -path '*/node_modules/*' -delete

FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="waybill" org.opencontainers.image.licenses="Apache-2.0"
# npm and the other package managers have no business at run time.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack \
      /usr/local/bin/yarn /usr/local/bin/yarnpkg /opt/yarn-* \
 && groupadd --gid 10001 waybill \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin waybill
WORKDIR /waybill
ENV NODE_ENV=production WAYBILL_OPS_HOST=0.0.0.0 WAYBILL_OPS_PORT=9090 WAYBILL_HTTP_HOST=0.0.0.0
COPY --from=build /waybill/package.json /waybill/LICENSE ./
COPY --from=build /waybill/node_modules node_modules
COPY --from=build /waybill/libs libs
COPY --from=build /waybill/apps apps
COPY --from=build /waybill/dist dist
# Services write no files, so they own none. The agent is the exception: raw_exec starts tasks as the user that a job
# names, which needs root, and its state and task folders live under WAYBILL_AGENT_DIR. Run it with `--user 0`.
USER 10001:10001
EXPOSE 4646 9090
STOPSIGNAL SIGTERM
ENTRYPOINT ["node", "--enable-source-maps", "--max-semi-space-size=64"]
CMD ["apps/api/dist/main.js"]
