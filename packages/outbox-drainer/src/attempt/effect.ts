// Effects are written in domain packages, which stand beside this one; so their contract lies below both.
export { createEffects, type AfterSaveEffect, type EffectEvent, type EffectsOf } from "@toolctrl/db/after-save-effect";
