import { readText } from "../src/repository.ts";

/** The files as they are. */
export const FILES = {
  plain: readText("docker-compose.yml"),
  coolify: readText("docker-compose.coolify.yml"),
  dockerfile: readText("Dockerfile"),
};
