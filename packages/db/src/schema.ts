export { assertSchema, findSchemaProblems, type SchemaProblem } from "./verify-schema.ts";
