// The consumer CONSUMER of this app, in a process of its own.
import { runOneConsumer } from "@toolctrl/consumer-testkit/one-consumer";
import { readEnv } from "../src/env.ts";
import { consumersOf } from "./app.ts";

const { CONSUMER = "", ...source } = process.env;
runOneConsumer(readEnv(source), CONSUMER, ({ database }) => consumersOf({ database }));
