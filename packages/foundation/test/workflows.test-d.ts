import { expectTypeOf, test } from "vitest";
import type { JsonObject, JsonValue } from "../src/json.ts";
import type { BLOCK_TEXTS, BlockConfig, BlockId, HttpBody, NodeOf, WorkflowNode } from "../src/workflows.ts";

test("a node is of each block there is, and has that block's configuration", () => {
  expectTypeOf<WorkflowNode["block"]>().toEqualTypeOf<BlockId>();
  expectTypeOf<NodeOf<"if">["config"]>().toEqualTypeOf<BlockConfig<"if">>();
  expectTypeOf<BlockConfig<"if">>().toEqualTypeOf<{ condition: string }>();
  expectTypeOf<BlockConfig<"rowUpdate">>().toEqualTypeOf<{ table: string; id: string; data: JsonObject }>();
});

test("a request's body is JSON or a text, told apart by its key", () => {
  expectTypeOf<NonNullable<BlockConfig<"httpRequest">["body"]>>().toEqualTypeOf<HttpBody>();
  expectTypeOf<Extract<HttpBody, { json: unknown }>["json"]>().toEqualTypeOf<JsonValue>();
});

test("texts without a block, or without a language, are no texts", () => {
  type Texts = typeof BLOCK_TEXTS;
  expectTypeOf<Omit<Texts, "de">>().not.toExtend<Texts>();
  expectTypeOf<Omit<Texts["de"], "email">>().not.toExtend<Texts["de"]>();
});
