import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { startEmbeddingsPeer } from "@toolctrl/testkit/embeddings-peer";
import { ragIndex } from "../subjects/rag-index.ts";

describeExactlyOneEffect(CONSUMER_MAP["rag-index"], ragIndex(await startEmbeddingsPeer()));
