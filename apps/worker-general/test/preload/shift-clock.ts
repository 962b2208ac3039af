// Loaded before an app: its clock is ahead (or behind) by SHIFT_CLOCK_MS. Timers are not touched, as on a machine with a wrong clock.
const shiftMs = Number(process.env.SHIFT_CLOCK_MS);
const RealDate = globalThis.Date;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now() + shiftMs] : args, newTarget) as object,
  apply: (target) => new target(target.now() + shiftMs).toString(),
  get: (target, name, receiver) => (name === "now" ? () => target.now() + shiftMs : (Reflect.get(target, name, receiver) as unknown)),
});
