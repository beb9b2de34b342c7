// Adapter of session.js to node-redis.
import { createClient, MultiErrorReply, RESP_TYPES, WatchError } from 'redis';
import { event } from './world.js';

const toPairs = (all) => all.map(({ value, score }) => [value, score]);
const toPopped = (reply) => reply && [reply.key, toPairs(reply.members)];
const toOnePopped = (reply) => reply && [reply.key, reply.value, reply.score];
const fromPairs = (pairs) => pairs.map(([value, score]) => ({ value, score }));
const toCount = (counts) => Object.values(counts)[0];

function setOptions({ EX, KEEPTTL, NX, GET } = {}) {
  return {
    ...(EX && { expiration: { type: 'EX', value: EX } }),
    ...(KEEPTTL && { expiration: 'KEEPTTL' }),
    ...(NX && { condition: 'NX' }),
    ...(GET && { GET }),
  };
}

function rangeOptions({ LIMIT, ...rest } = {}) {
  return LIMIT ? { ...rest, LIMIT: { offset: LIMIT[0], count: LIMIT[1] } } : rest;
}

// Name of a call of session.js: how it is sent (t is a client or a transaction), and where
// the reply needs it, how it is read.
const calls = {
  raw: [(t, words) => t.addCommand(words)],
  flushAll: [(t) => t.flushAll()],
  info: [(t, section) => t.info(section)],
  configSet: [(t, name, value) => t.configSet(name, value)],
  clientInfo: [(t) => t.clientInfo()],

  set: [(t, key, value, options) => t.set(key, value, setOptions(options))],
  get: [(t, key) => t.get(key)],
  getBuffer: [(t, key) => t.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }).get(key)],
  getDel: [(t, key) => t.getDel(key)],
  getEx: [(t, key, { PX }) => t.getEx(key, { type: 'PX', value: PX })],
  mSet: [(t, pairs) => t.mSet(pairs)],
  mGet: [(t, keys) => t.mGet(keys)],
  append: [(t, key, text) => t.append(key, text)],
  getRange: [(t, key, start, end) => t.getRange(key, start, end)],
  setRange: [(t, key, at, text) => t.setRange(key, at, text)],
  strLen: [(t, key) => t.strLen(key)],
  incr: [(t, key) => t.incr(key)],
  incrBy: [(t, key, n) => t.incrBy(key, n)],
  decrBy: [(t, key, n) => t.decrBy(key, n)],
  incrByFloat: [(t, key, n) => t.incrByFloat(key, n), Number],

  del: [(t, keys) => t.del(keys)],
  unlink: [(t, keys) => t.unlink(keys)],
  exists: [(t, keys) => t.exists(keys)],
  type: [(t, key) => t.type(key)],
  copy: [(t, key, to) => t.copy(key, to)],
  rename: [(t, key, to) => t.rename(key, to)],
  ttl: [(t, key) => t.ttl(key)],
  pTtl: [(t, key) => t.pTTL(key)],
  persist: [(t, key) => t.persist(key)],
  expire: [(t, key, n, mode) => t.expire(key, n, mode)],
  pExpire: [(t, key, n) => t.pExpire(key, n)],
  expireAt: [(t, key, n) => t.expireAt(key, n)],
  expireTime: [(t, key) => t.expireTime(key)],

  zAdd: [(t, key, pairs, { NX, GT, CH } = {}) => t.zAdd(key, fromPairs(pairs), {
    ...(NX && { condition: 'NX' }), ...(GT && { comparison: 'GT' }), ...(CH && { CH }) })],
  zIncrBy: [(t, key, n, member) => t.zIncrBy(key, n, member)],
  zScore: [(t, key, member) => t.zScore(key, member)],
  zMScore: [(t, key, members) => t.zmScore(key, members)],
  zCard: [(t, key) => t.zCard(key)],
  zRank: [(t, key, member) => t.zRank(key, member)],
  zRevRank: [(t, key, member) => t.zRevRank(key, member)],
  zCount: [(t, key, min, max) => t.zCount(key, min, max)],
  zLexCount: [(t, key, min, max) => t.zLexCount(key, min, max)],
  zRem: [(t, key, members) => t.zRem(key, members)],
  zRemRangeByLex: [(t, key, min, max) => t.zRemRangeByLex(key, min, max)],
  zRemRangeByScore: [(t, key, min, max) => t.zRemRangeByScore(key, min, max)],
  zRemRangeByRank: [(t, key, min, max) => t.zRemRangeByRank(key, min, max)],
  zRange: [(t, key, min, max, options) => t.zRange(key, min, max, rangeOptions(options))],
  zRangeWithScores: [(t, key, min, max) => t.zRangeWithScores(key, min, max), toPairs],
  zRangeStore: [(t, to, key, min, max) => t.zRangeStore(to, key, min, max)],
  zRandMember: [(t, key, n) => t.zRandMemberCount(key, n)],
  zUnionWithScores: [(t, keys) => t.zUnionWithScores(keys), toPairs],
  zInterWithScores: [(t, keys) => t.zInterWithScores(keys), toPairs],
  zDiff: [(t, keys) => t.zDiff(keys)],
  zInterCard: [(t, keys, options) => t.zInterCard(keys, options)],
  zUnionStore: [(t, to, pairs, aggregate) => t.zUnionStore(to,
    pairs.map(([key, weight]) => ({ key, weight })), { AGGREGATE: aggregate })],
  zPopMin: [(t, key, n) => t.zPopMinCount(key, n), toPairs],
  zPopMax: [(t, key, n) => t.zPopMaxCount(key, n), toPairs],
  zMPop: [(t, keys, side, n) => t.zmPop(keys, side, { COUNT: n }), toPopped],
  bzPopMin: [(t, keys, s) => t.bzPopMin(keys, s), toOnePopped],
  bzPopMax: [(t, keys, s) => t.bzPopMax(keys, s), toOnePopped],
  bzMPop: [(t, s, keys, side, n) => t.bzmPop(s, keys, side, { COUNT: n }), toPopped],
  zScan: [async (t, key) => {
    const pairs = [];
    for await (const page of t.zScanIterator(key)) pairs.push(...toPairs([page].flat()));
    return pairs;
  }],

  geoAdd: [(t, key, places) => t.geoAdd(key, places)],
  geoDist: [(t, key, a, b, unit) => t.geoDist(key, a, b, unit)],
  geoPos: [(t, key, members) => t.geoPos(key, members), (all) => all.map((position) =>
    position && [Number(position.longitude), Number(position.latitude)])],
  geoHash: [(t, key, members) => t.geoHash(key, members)],
  geoSearch: [(t, key, where, shape, sort) => t.geoSearch(key, where, shape, { SORT: sort })],
  geoSearchWithDistance: [(t, key, where, shape, sort) =>
    t.geoSearchWith(key, where, shape, ['WITHDIST'], { SORT: sort }),
  (all) => all.map(({ member, distance }) => [member, Number(distance)])],
  geoSearchStore: [(t, to, key, where, shape) => t.geoSearchStore(to, key, where, shape)],

  watch: [(t, keys) => t.watch(keys)],
  unwatch: [(t) => t.unwatch()],
  publish: [(t, channel, text) => t.publish(channel, text)],
  sPublish: [(t, channel, text) => t.sPublish(channel, text)],
  pubSubChannels: [(t, pattern) => t.pubSubChannels(pattern)],
  pubSubNumPat: [(t) => t.pubSubNumPat()],
  pubSubNumSub: [(t, channel) => t.pubSubNumSub(channel), toCount],
  pubSubShardNumSub: [(t, channel) => t.pubSubShardNumSub(channel), toCount],
};

const kinds = {
  channel: ['subscribe', 'unsubscribe'],
  pattern: ['pSubscribe', 'pUnsubscribe'],
  shard: ['sSubscribe', 'sUnsubscribe'],
};

class Adapter {
  #client;

  constructor(client) { this.#client = client; }

  async call(name, ...rest) {
    const [send, read = (reply) => reply] = calls[name];
    return read(await send(this.#client, ...rest));
  }

  async transaction(list) {
    const multi = this.#client.multi();
    for (const [name, ...rest] of list) calls[name][0](multi, ...rest);
    let replies;
    try {
      replies = await multi.exec();
    } catch (error) {
      if (error instanceof WatchError) return null;
      if (!(error instanceof MultiErrorReply)) throw error;
      replies = error.replies;
    }
    return replies.map((reply, i) => {
      const [, read = (plain) => plain] = calls[list[i][0]];
      return reply instanceof Error ? reply : read(reply);
    });
  }

  subscribe(kind, channel, listener) { return this.#client[kinds[kind][0]](channel, listener); }

  unsubscribe(kind, channel) { return this.#client[kinds[kind][1]](channel); }

  lost() { return event(this.#client, 'reconnecting'); }

  ready() { return event(this.#client, 'ready'); }

  close() { this.#client.destroy(); }
}

/** Connects a client and gives its adapter. */
export async function openAdapter(options, { name, db }) {
  const client = createClient({ ...options, name, database: db });
  client.on('error', () => {}); // connections refused while the server is down
  await client.connect();
  return new Adapter(client);
}
