// Pull workers with the product's after-save effects, in lanes of a process of their own.
import { runOneDrainer } from "@toolctrl/consumer-testkit/one-drainer";
import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";

runOneDrainer(afterSaveEffects());
