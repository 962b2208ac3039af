export { assertSchema, findSchemaProblems } from "./verify-schema.ts";
