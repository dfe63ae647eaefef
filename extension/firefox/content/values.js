// @ts-check
// Values as WebDriver BiDi writes them: of both worlds into JSON, and from JSON into either.
(() => {
  const own = /** @type {any} */ (globalThis);
  if (own.bowlineIsHere) return;
  const parts = own.bowlineParts;
  const { page, isObject, plain, waived } = parts.worlds;
  const tagOf = (/** @type {unknown} */ value) => Object.prototype.toString.call(value).slice(8, -1);

  /** Of this document: what another one gave is not found here. */
  const document_ = parts.worlds.newId();
  /** @type {WeakMap<object, string>} */
  const sharedIds = new WeakMap();
  /** @type {Map<string, WeakRef<any>>} */
  const shared = new Map();
  /** Kept for who asked for handles, until they are disowned. @type {Map<string, any>} */
  const handles = new Map();
  let last = 0;

  class Refusal extends Error {
    /** @param {string} error @param {string} message */
    constructor(error, message) {
      super(message);
      this.error = error;
    }
  }

  /** @param {any} node */
  function sharedIdOf(node) {
    const own = plain(node);
    let id = sharedIds.get(own);
    if (id === undefined) {
      id = `${document_}.${++last}`;
      sharedIds.set(own, id);
      shared.set(id, new WeakRef(own));
    }
    return id;
  }

  /** @param {string} id */
  function nodeOf(id) {
    const node = shared.get(id)?.deref();
    if (!node) throw new Refusal('no such node', `The node with the reference ${id} is not known in this document.`);
    return node;
  }

  /** @param {any} value */
  function isNode(value) {
    try {
      return plain(value) instanceof Node;
    } catch {
      return false;
    }
  }

  /** The frame of a window. @param {any} value */
  function frameOf(value) {
    try {
      return value.window === undefined || plain(value.window) !== plain(value) ? -1 : parts.frameIdOf(plain(value));
    } catch {
      return -1;
    }
  }

  /** @param {number} number */
  function numberOf(number) {
    if (Number.isNaN(number)) return 'NaN';
    if (Object.is(number, -0)) return '-0';
    if (!Number.isFinite(number)) return number > 0 ? 'Infinity' : '-Infinity';
    return number;
  }

  /**
   * @param {any} value
   * @param {{maxObjectDepth?: number | null, maxDomDepth?: number | null, includeShadowTree?: string}} [options]
   * @param {boolean} [owned] whether a handle is wanted
   */
  function serialize(value, options = {}, owned = false) {
    const limits = { objects: options.maxObjectDepth ?? Infinity, nodes: options.maxDomDepth ?? 0, shadows: options.includeShadowTree ?? 'none' };
    const told = write(value, limits, new Map());
    if (owned && isObject(value)) {
      told.handle = parts.worlds.newId();
      handles.set(told.handle, value);
    }
    return told;
  }

  /** @param {any} value @param {any} limits @param {Map<any, any>} seen @returns {any} */
  function write(value, limits, seen) {
    switch (typeof value) {
      case 'undefined': return { type: 'undefined' };
      case 'string': return { type: 'string', value };
      case 'boolean': return { type: 'boolean', value };
      case 'number': return { type: 'number', value: numberOf(value) };
      case 'bigint': return { type: 'bigint', value: String(value) };
      case 'symbol': return { type: 'symbol' };
      case 'function': return { type: 'function' };
    }
    if (value === null) return { type: 'null' };
    const before = seen.get(value);
    if (before) {
      before.internalId ??= parts.worlds.newId();
      return { type: before.type, internalId: before.internalId, ...(before.sharedId && { sharedId: before.sharedId }) };
    }
    /** @type {any} */
    const told = {};
    seen.set(value, told);
    return writeObject(value, told, limits, seen);
  }

  /** @param {any} value @param {any} told @param {any} limits @param {Map<any, any>} seen */
  function writeObject(value, told, limits, seen) {
    if (isNode(value)) return writeNode(plain(value), told, limits, seen);
    const frameId = frameOf(value);
    if (frameId >= 0) return Object.assign(told, { type: 'window', value: { context: parts.contextOf(frameId) } });
    const deeper = { ...limits, objects: limits.objects - 1 };
    const may = limits.objects > 0;
    const list = (/** @type {Iterable<any>} */ items) => Array.from(items, (item) => write(item, deeper, seen));
    const tag = Array.isArray(value) ? 'Array' : tagOf(value);
    switch (tag) {
      case 'Array':
        told.type = 'array';
        // Not by its iterator, which the page may have changed.
        if (may) told.value = Array.from({ length: value.length }, (_, at) => write(value[at], deeper, seen));
        return told;
      case 'NodeList': case 'HTMLCollection':
        told.type = tag.toLowerCase();
        if (may) told.value = list(plain(value));
        return told;
      case 'Set':
        told.type = 'set';
        if (may) told.value = list(value);
        return told;
      case 'Map':
        told.type = 'map';
        if (may) told.value = Array.from(value, ([key, item]) => [typeof key === 'string' ? key : write(key, deeper, seen), write(item, deeper, seen)]);
        return told;
      case 'Date': return Object.assign(told, { type: 'date', value: value.toISOString() });
      case 'RegExp': return Object.assign(told, { type: 'regexp', value: { pattern: value.source, flags: value.flags } });
      case 'Error': case 'DOMException': return Object.assign(told, { type: 'error' });
      case 'Promise': case 'WeakMap': case 'WeakSet': case 'ArrayBuffer': case 'Generator':
        return Object.assign(told, { type: tag.toLowerCase() });
    }
    if (ArrayBuffer.isView(value)) return Object.assign(told, { type: 'typedarray' });
    told.type = 'object';
    if (may) told.value = Object.keys(value).map((name) => [name, write(member(value, name), deeper, seen)]);
    return told;
  }

  /** A getter that throws is one value that is missing, not all of them. @param {any} value @param {string} name */
  function member(value, name) {
    try {
      return value[name];
    } catch {
      return undefined;
    }
  }

  /** @param {any} node @param {any} told @param {any} limits @param {Map<any, any>} seen */
  function writeNode(node, told, limits, seen) {
    told.type = 'node';
    told.sharedId = sharedIdOf(node);
    /** @type {any} */
    const value = told.value = { nodeType: node.nodeType, childNodeCount: node.childNodes.length };
    if (node.nodeType === Node.ELEMENT_NODE) {
      value.localName = node.localName;
      value.namespaceURI = node.namespaceURI;
      value.attributes = Object.fromEntries(Array.from(node.attributes, (/** @type {Attr} */ { name, value: text }) => [name, text]));
      const shadow = node.openOrClosedShadowRoot ?? node.shadowRoot;
      value.shadowRoot = shadow && (limits.shadows === 'all' || shadow.mode === 'open') ? write(shadow, { ...limits, nodes: limits.shadows === 'none' ? 0 : limits.nodes }, seen) : null;
    } else if (node.nodeType === Node.ATTRIBUTE_NODE || node.nodeValue !== null) {
      value.nodeValue = node.nodeValue;
    }
    if (node.nodeType === Node.DOCUMENT_FRAGMENT_NODE && node.mode) value.mode = node.mode;
    if (limits.nodes > 0) value.children = Array.from(node.childNodes, (child) => write(child, { ...limits, nodes: limits.nodes - 1 }, seen));
    return told;
  }

  /**
   * A value of the hub, made in the world that it is for.
   * @param {any} local
   * @param {boolean} inPage
   * @returns {any}
   */
  function read(local, inPage) {
    if (typeof local.sharedId === 'string') return inPage ? waived(nodeOf(local.sharedId)) : nodeOf(local.sharedId);
    if (typeof local.handle === 'string') {
      if (!handles.has(local.handle)) throw new Refusal('no such handle', `The handle ${local.handle} is not known.`);
      return handles.get(local.handle);
    }
    const world = inPage ? page : globalThis;
    const { type, value } = local;
    switch (type) {
      case 'undefined': return undefined;
      case 'null': return null;
      case 'string': case 'boolean': return value;
      case 'number': return typeof value === 'string' ? Number(value) : value;
      case 'bigint': return BigInt(value);
      case 'date': return new world.Date(value);
      case 'regexp': return new world.RegExp(value.pattern, value.flags);
      case 'array': {
        const array = new world.Array();
        value.forEach((/** @type {any} */ item, /** @type {number} */ at) => { array[at] = read(item, inPage); });
        return array;
      }
      case 'set': {
        const set = new world.Set();
        for (const item of value) set.add(read(item, inPage));
        return set;
      }
      case 'object': {
        const object = new world.Object();
        for (const [name, item] of value) object[name] = read(item, inPage);
        return object;
      }
      case 'map': {
        const map = new world.Map();
        for (const [key, item] of value) map.set(typeof key === 'string' ? key : read(key, inPage), read(item, inPage));
        return map;
      }
      case 'channel': return channel(value, inPage);
      default: throw new Refusal('invalid argument', `A value of the type "${type}" cannot be an argument.`);
    }
  }

  /** A function that tells the hub what it is called with. @param {any} properties @param {boolean} inPage */
  function channel({ channel: name, serializationOptions, ownership }, inPage) {
    const send = (/** @type {any} */ data) => parts.tell('message', { channel: name, data: serialize(inPage ? waived(data) : data, serializationOptions, ownership === 'root') });
    return inPage ? /** @type {any} */ (globalThis).exportFunction(send, window) : send;
  }

  parts.values = {
    Refusal,
    serialize,
    read,
    nodeOf,
    tagOf,
    /** @param {string[]} names */
    disown(names) {
      for (const name of names) handles.delete(name);
    },
  };
})();
