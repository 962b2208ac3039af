import { Context, toValue, type Liquid } from "liquidjs";
import { isHiddenKey } from "@toolctrl/foundation/json";

/** Variables as a template sees them: of nothing does it see what leads behind it, also not of the engine's own objects such as `forloop`. */
export class InertContext extends Context {
  override readProperty(...[object, key]: Parameters<Context["readProperty"]>): unknown {
    const name: unknown = toValue(key);
    const isKey = typeof name === "number" || (typeof name === "string" && !isHiddenKey(name));
    return isKey ? super.readProperty(object, name) : undefined;
  }

  /** The same limits, other variables, nothing assigned yet. */
  override spawn(variables: object = {}): InertContext {
    const { memoryLimit, renderLimit } = this;
    return new InertContext(variables, this.opts, { sync: true }, { memoryLimit, renderLimit, liquid: this.liquid as Liquid });
  }
}

export function createInertContext(engine: Liquid, variables: object): InertContext {
  return new InertContext(variables, engine.options, { sync: true }, { liquid: engine });
}
