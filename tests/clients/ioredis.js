// Adapter of session.js to the clients of ioredis's kind, whose functions have the names
// of the commands and take their words in order.
import { EventEmitter } from 'node:events';
import { event } from './world.js';

/** { EX: 10, GET: true } as words: EX 10 GET. */
function words(options = {}) {
  return Object.entries(options).flatMap(([name, value]) =>
    value === true ? [name] : [name, value].flat());
}

// Scores are text in RESP2 and numbers in RESP3.
function toNumber(score) {
  if (score === null) return null;
  return Number(String(score).replace('inf', 'Infinity'));
}

// RESP2 has name and score in turns, RESP3 a pair each.
function toPairs(reply) {
  const flat = reply.flat();
  return flat.flatMap((name, i) => i % 2 === 0 ? [[name, toNumber(flat[i + 1])]] : []);
}

const toPopped = (reply) => reply && [reply[0], toPairs(reply[1])];
const swap = ([member, score]) => [score, member];
const place = ({ longitude, latitude, member }) => [longitude, latitude, member];
const from = (where) => typeof where === 'string' ? ['FROMMEMBER', where]
  : ['FROMLONLAT', where.longitude, where.latitude];
const by = ({ radius, unit }) => ['BYRADIUS', radius, unit];
const range = ({ BY, LIMIT, ...rest } = {}) =>
  [...(BY ? [`BY${BY}`] : []), ...words(rest), ...words(LIMIT ? { LIMIT } : {})];
const store = (pairs) => [pairs.length, ...pairs.map(([key]) => key), 'WEIGHTS',
  ...pairs.map(([, weight]) => weight)];

// Name of a call of session.js: how it is sent (t is a client or a transaction), and where
// the reply needs it, how it is read.
const calls = {
  raw: [(t, [name, ...rest]) => t.call(name, ...rest)],
  flushAll: [(t) => t.flushall()],
  info: [(t, section) => t.info(section)],
  configSet: [(t, name, value) => t.config('SET', name, value)],
  clientInfo: [(t) => t.client('INFO'), (text) =>
    Object.fromEntries(String(text).trim().split(' ').map((field) => field.split('=')))],

  set: [(t, key, value, options) => t.set(key, value, ...words(options))],
  get: [(t, key) => t.get(key)],
  getBuffer: [(t, key) => t.getBuffer(key)],
  getDel: [(t, key) => t.getdel(key)],
  getEx: [(t, key, options) => t.getex(key, ...words(options))],
  mSet: [(t, pairs) => t.mset(pairs)],
  mGet: [(t, keys) => t.mget(keys)],
  append: [(t, key, text) => t.append(key, text)],
  getRange: [(t, key, start, end) => t.getrange(key, start, end)],
  setRange: [(t, key, at, text) => t.setrange(key, at, text)],
  strLen: [(t, key) => t.strlen(key)],
  incr: [(t, key) => t.incr(key)],
  incrBy: [(t, key, n) => t.incrby(key, n)],
  decrBy: [(t, key, n) => t.decrby(key, n)],
  incrByFloat: [(t, key, n) => t.incrbyfloat(key, n), toNumber],

  del: [(t, keys) => t.del(keys)],
  unlink: [(t, keys) => t.unlink(keys)],
  exists: [(t, keys) => t.exists(keys)],
  type: [(t, key) => t.type(key)],
  copy: [(t, key, to) => t.copy(key, to)],
  rename: [(t, key, to) => t.rename(key, to)],
  ttl: [(t, key) => t.ttl(key)],
  pTtl: [(t, key) => t.pttl(key)],
  persist: [(t, key) => t.persist(key)],
  expire: [(t, key, n, ...mode) => t.expire(key, n, ...mode)],
  pExpire: [(t, key, n) => t.pexpire(key, n)],
  expireAt: [(t, key, n) => t.expireat(key, n)],
  expireTime: [(t, key) => t.expiretime(key)],

  zAdd: [(t, key, pairs, options) =>
    t.zadd(key, ...words(options), ...pairs.map(swap).flat().map(String))],
  zIncrBy: [(t, key, n, member) => t.zincrby(key, n, member), toNumber],
  zScore: [(t, key, member) => t.zscore(key, member), toNumber],
  zMScore: [(t, key, members) => t.zmscore(key, members), (all) => all.map(toNumber)],
  zCard: [(t, key) => t.zcard(key)],
  zRank: [(t, key, member) => t.zrank(key, member)],
  zRevRank: [(t, key, member) => t.zrevrank(key, member)],
  zCount: [(t, key, min, max) => t.zcount(key, min, max)],
  zLexCount: [(t, key, min, max) => t.zlexcount(key, min, max)],
  zRem: [(t, key, members) => t.zrem(key, members)],
  zRemRangeByLex: [(t, key, min, max) => t.zremrangebylex(key, min, max)],
  zRemRangeByScore: [(t, key, min, max) => t.zremrangebyscore(key, min, max)],
  zRemRangeByRank: [(t, key, min, max) => t.zremrangebyrank(key, min, max)],
  zRange: [(t, key, min, max, options) => t.zrange(key, min, max, ...range(options))],
  zRangeWithScores: [(t, key, min, max) => t.zrange(key, min, max, 'WITHSCORES'), toPairs],
  zRangeStore: [(t, to, key, min, max) => t.zrangestore(to, key, min, max)],
  zRandMember: [(t, key, n) => t.zrandmember(key, n)],
  zUnionWithScores: [(t, keys) => t.zunion(keys.length, ...keys, 'WITHSCORES'), toPairs],
  zInterWithScores: [(t, keys) => t.zinter(keys.length, ...keys, 'WITHSCORES'), toPairs],
  zDiff: [(t, keys) => t.zdiff(keys.length, ...keys)],
  zInterCard: [(t, keys, options) => t.zintercard(keys.length, ...keys, ...words(options))],
  zUnionStore: [(t, to, pairs, aggregate) =>
    t.zunionstore(to, ...store(pairs), 'AGGREGATE', aggregate)],
  zPopMin: [(t, key, n) => t.zpopmin(key, n), toPairs],
  zPopMax: [(t, key, n) => t.zpopmax(key, n), toPairs],
  zMPop: [(t, keys, side, n) => t.zmpop(keys.length, ...keys, side, 'COUNT', n), toPopped],
  bzPopMin: [(t, keys, s) => t.bzpopmin(...keys, s),
    (reply) => reply && [reply[0], reply[1], toNumber(reply[2])]],
  bzPopMax: [(t, keys, s) => t.bzpopmax(...keys, s),
    (reply) => reply && [reply[0], reply[1], toNumber(reply[2])]],
  bzMPop: [(t, s, keys, side, n) =>
    t.bzmpop(s, keys.length, ...keys, side, 'COUNT', n), toPopped],
  zScan: [async (t, key) => {
    const pairs = [];
    for await (const page of t.zscanStream(key)) pairs.push(...toPairs(page));
    return pairs;
  }],

  geoAdd: [(t, key, places) => t.geoadd(key, ...places.flatMap(place))],
  geoDist: [(t, key, a, b, unit) => t.geodist(key, a, b, unit), toNumber],
  geoPos: [(t, key, members) => t.geopos(key, ...members),
    (all) => all.map((position) => position && position.map(Number))],
  geoHash: [(t, key, members) => t.geohash(key, ...members)],
  geoSearch: [(t, key, where, shape, sort) =>
    t.geosearch(key, ...from(where), ...by(shape), sort)],
  geoSearchWithDistance: [(t, key, where, shape, sort) =>
    t.geosearch(key, ...from(where), ...by(shape), sort, 'WITHDIST'), toPairs],
  geoSearchStore: [(t, to, key, where, shape) =>
    t.geosearchstore(to, key, ...from(where), ...by(shape))],

  watch: [(t, keys) => t.watch(keys)],
  unwatch: [(t) => t.unwatch()],
  publish: [(t, channel, text) => t.publish(channel, text)],
  sPublish: [(t, channel, text) => t.spublish(channel, text)],
  pubSubChannels: [(t, pattern) => t.pubsub('CHANNELS', pattern)],
  pubSubNumPat: [(t) => t.pubsub('NUMPAT')],
  pubSubNumSub: [(t, channel) => t.pubsub('NUMSUB', channel), toCount],
  pubSubShardNumSub: [(t, channel) => t.pubsub('SHARDNUMSUB', channel), toCount],
};

function toCount(reply) {
  return Array.isArray(reply) ? Number(reply[1]) : Number(Object.values(reply)[0]);
}

const kinds = {
  channel: ['subscribe', 'unsubscribe', 'message'],
  pattern: ['psubscribe', 'punsubscribe', 'pmessage'],
  shard: ['ssubscribe', 'sunsubscribe', 'smessage'],
};

class Adapter {
  #client;
  #listeners = new EventEmitter();

  constructor(client) {
    this.#client = client;
    client.on('error', () => {}); // connections refused while the server is down
    client.on('message', (channel, text) =>
      this.#listeners.emit(`channel ${channel}`, text, channel));
    client.on('pmessage', (pattern, channel, text) =>
      this.#listeners.emit(`pattern ${pattern}`, text, channel));
    client.on('smessage', (channel, text) =>
      this.#listeners.emit(`shard ${channel}`, text, channel));
  }

  async call(name, ...rest) {
    const [send, read = (reply) => reply] = calls[name];
    return read(await send(this.#client, ...rest));
  }

  async transaction(list) {
    const multi = this.#client.multi();
    for (const [name, ...rest] of list) calls[name][0](multi, ...rest);
    const replies = await multi.exec();
    return replies && replies.map(([error, reply], i) => {
      const [, read = (plain) => plain] = calls[list[i][0]];
      return error ?? read(reply);
    });
  }

  async subscribe(kind, channel, listener) {
    this.#listeners.on(`${kind} ${channel}`, listener);
    await this.#client[kinds[kind][0]](channel);
  }

  async unsubscribe(kind, channel) {
    await this.#client[kinds[kind][1]](channel);
    this.#listeners.removeAllListeners(`${kind} ${channel}`);
  }

  lost() { return event(this.#client, 'close'); }

  ready() { return event(this.#client, 'ready'); }

  close() { this.#client.disconnect(); }
}

/** Connects a client and gives its adapter. */
export async function openAdapter(Client, options, { name, db }) {
  const client = new Client({ ...options, host: '127.0.0.1', connectionName: name, db,
    lazyConnect: true, retryStrategy: () => 10, maxRetriesPerRequest: null });
  const adapter = new Adapter(client);
  await client.connect();
  return adapter;
}
