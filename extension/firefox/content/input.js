// @ts-check
// input.performActions in one frame: ticks one after the other, and what belongs to a frame inside is handed on to it.
(() => {
  const parts = /** @type {any} */ (globalThis).bowlineParts;
  if (!parts) return;
  const { at, focused, into, isFrame } = parts.targets;
  const { Refusal, nodeOf } = parts.values;

  const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

  /**
   * @param {{ticks: {duration: number, acts: any[]}[], state: any, number: number}} params `state`: keys and buttons that are held, and where each
   * pointer is; `number`: which of all performances it is
   */
  async function perform({ ticks, state, number }) {
    for (const { duration, acts } of ticks) {
      const begun = performance.now();
      for (const one of acts) {
        // What is dropped cannot be taken back: was it called off while the page was busy?
        if (one.kind === 'up' && parts.pointer.cargo() && (await parts.ask('isCalledOff', { number })).calledOff) parts.pointer.letGo();
        await single(one, state);
      }
      const left = duration - (performance.now() - begun);
      if (left > 0) await pause(left);
    }
    return { state };
  }

  /** @param {any} act @param {any} state */
  async function single(act, state) {
    if (act.kind === 'key') {
      await spread({ ...act, keys: state.keys, time: performance.now() }, state);
      return;
    }
    const pointer = state.pointers[act.source] ??= { x: 0, y: 0, buttons: 0 };
    if (act.x !== undefined) Object.assign(pointer, where(act, pointer));
    await spread({ ...act, x: pointer.x, y: pointer.y, buttons: pointer.buttons, keys: state.keys, time: performance.now() }, state, pointer);
  }

  /** @param {any} act @param {{x: number, y: number}} pointer */
  function where({ x, y, origin }, pointer) {
    if (origin === 'pointer') return { x: pointer.x + x, y: pointer.y + y };
    if (origin?.type !== 'element') return { x, y };
    const element = nodeOf(origin.element.sharedId);
    const [box] = element.getClientRects();
    if (!box) throw new Refusal('move target out of bounds', 'The element is not shown.');
    return { x: Math.floor(box.left + box.width / 2) + x, y: Math.floor(box.top + box.height / 2) + y };
  }

  /** @param {any} act @param {any} state @param {any} [pointer] */
  async function spread(act, state, pointer) {
    const told = await actHere(act);
    state.keys = told.keys;
    if (pointer) pointer.buttons = told.buttons;
  }

  /** One act, in this frame or in the one that lies there. @param {any} act @returns {Promise<{keys: any, buttons: number}>} */
  async function actHere(act) {
    const target = act.kind === 'key' ? focused() : at(act.x, act.y);
    if (target && isFrame(target)) {
      const { frameId, x, y } = into(target, act.x, act.y);
      if (frameId > 0) {
        if (act.kind === 'down') target.focus();
        const cargo = act.cargo ?? parts.pointer.cargo();
        const told = await parts.ask('forward', { frameId, act: act.kind === 'key' ? act : { ...act, x, y, ...(cargo && { cargo }) } });
        parts.pointer.away(act);
        return told;
      }
    }
    const work = () => (act.kind === 'key' ? parts.keyboard[act.type](act) : parts.pointer[act.kind](act));
    if (act.kind === 'up' || act.kind === 'key') parts.popups.around(work);
    else work();
    return { keys: act.keys, buttons: act.buttons ?? 0 };
  }

  parts.input = { perform, act: actHere };
})();
