import { readText } from "@toolctrl/docs-check/repository";

/** The files as they are. */
export const FILES = {
  plain: readText("docker-compose.yml"),
  coolify: readText("docker-compose.coolify.yml"),
  scaled: readText("docker-compose.scaled.yml"),
  dockerfile: readText("Dockerfile"),
};
