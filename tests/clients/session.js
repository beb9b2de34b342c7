// The session that every Node.js client runs, once for each protocol it speaks. It is
// written against a small interface that an adapter gives each client (see node-redis.js
// and ioredis.js), which calls the client's own functions, so that their encoding of
// arguments and decoding of replies takes part. test_redis_py.py and hiredis_session.c
// hold the same steps.
//
// An adapter has:
//   call(name, ...arguments)    one of the calls that the steps use: names of commands in
//                               the client's way; pairs of a sorted set are
//                               [member, score]; options are objects such as { EX: 10 }
//   transaction([[name, ...arguments]...])  MULTI, the calls, EXEC: an array of replies and
//                               errors, or null if a watched key has changed
//   subscribe(kind, channel, listener), unsubscribe(kind, channel)  kinds are 'channel',
//                               'pattern' and 'shard'; the listener gets (message, channel)
//   lost(), ready()             promises: the connection is lost; it is there (again)
//   close()
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { catania, Inbox, keeper, palermo, palermoPosition, rejectsWith, until }
  from './world.js';

const WRONG_TYPE = 'WRONGTYPE Operation against a key holding the wrong kind of value';
const LIMIT_MS = { timeout: 60000 };

/** Runs the session. open({ name, db }) gives an adapter with a connection of its own. */
export function describeSession(title, open) {
  describe(title, LIMIT_MS, () => {
    let client;
    before(async () => {
      client = await open({});
      await client.call('flushAll');
    });
    after(() => client.close());

    for (const [name, steps] of Object.entries({ ...values, ...sets })) {
      it(name, () => steps((...words) => client.call(...words)));
    }
    for (const [name, steps] of Object.entries({ ...exchanges, ...restarts })) {
      it(name, async () => {
        const opened = [];
        try {
          await steps(client, async (options = {}) => {
            opened.push(await open(options));
            return opened.at(-1);
          });
        } finally {
          await Promise.all(opened.map((each) => each.close()));
        }
      });
    }
  });
}

// ---- values and keys --------------------------------------------------------------

const values = {
  strings: async (call) => {
    assert.equal(await call('set', 'str', 'one'), 'OK');
    assert.equal(await call('get', 'str'), 'one');
    assert.equal(await call('get', 'nothing'), null);
    assert.equal(await call('set', 'str', 'two', { NX: true }), null);
    assert.equal(await call('set', 'str', 'two', { GET: true }), 'one');
    assert.equal(await call('append', 'str', ' three'), 9);
    assert.equal(await call('getRange', 'str', -5, -1), 'three');
    assert.equal(await call('setRange', 'str', 0, 'TWO'), 9);
    assert.equal(await call('getDel', 'str'), 'TWO three');
    assert.equal(await call('strLen', 'str'), 0);
    assert.equal(await call('mSet', { a: '1', b: '2' }), 'OK');
    assert.deepEqual(await call('mGet', ['a', 'nothing', 'b']), ['1', null, '2']);
  },

  'bytes of any kind': async (call) => {
    const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => i & 255));
    await call('set', 'bytes', bytes);
    assert.deepEqual(await call('getBuffer', 'bytes'), bytes);
    assert.equal(await call('strLen', 'bytes'), 1024);
    await call('set', 'ключ\r\n', 'знач\0ение');
    assert.equal(await call('get', 'ключ\r\n'), 'знач\0ение');
    const large = 'x'.repeat(1 << 20);
    await call('set', 'large', large);
    assert.ok(await call('get', 'large') === large);
    assert.equal(await call('del', ['bytes', 'ключ\r\n', 'large', 'nothing']), 3);
  },

  counters: async (call) => {
    assert.equal(await call('incr', 'n'), 1);
    assert.equal(await call('incrBy', 'n', 41), 42);
    assert.equal(await call('decrBy', 'n', 50), -8);
    assert.equal(await call('incrByFloat', 'n', 10.5), 2.5);
    await rejectsWith(call('incr', 'n'), 'ERR value is not an integer or out of range');
  },

  'names of keys': async (call) => {
    await call('set', 'from', 'v');
    assert.equal(await call('copy', 'from', 'copied'), 1);
    assert.equal(await call('rename', 'from', 'to'), 'OK');
    assert.equal(await call('exists', ['from', 'to', 'copied']), 2);
    assert.equal(await call('type', 'to'), 'string');
    assert.equal(await call('unlink', ['to', 'copied']), 2);
  },

  expiry: async (call) => {
    await call('set', 'k', 'v', { EX: 100 });
    assert.ok([99, 100].includes(await call('ttl', 'k')));
    assert.equal(await call('persist', 'k'), 1);
    assert.equal(await call('ttl', 'k'), -1);
    assert.equal(await call('expire', 'k', 50, 'XX'), 0);
    assert.equal(await call('expire', 'k', 50), 1);
    assert.equal(await call('expire', 'k', 40, 'GT'), 0);
    const atS = Math.floor(Date.now() / 1000) + 1000;
    assert.equal(await call('expireAt', 'k', atS), 1);
    assert.equal(await call('expireTime', 'k'), atS);
    await call('set', 'k', 'w', { KEEPTTL: true });
    assert.ok(await call('pTtl', 'k') > 900000);
    assert.equal(await call('getEx', 'k', { PX: 20 }), 'w');
    await until('the key expires', async () => await call('exists', ['k']) === 0);
    assert.equal(await call('ttl', 'k'), -2);
    await call('zAdd', 'z', [['m', 1]]);
    assert.equal(await call('pExpire', 'z', 1), 1);
    await until('the set expires', async () => await call('exists', ['z']) === 0);
  },
};

// ---- sorted sets and positions ----------------------------------------------------

const abc = [['a', 1], ['b', 2], ['c', 3.5]];

const sets = {
  'sorted sets': async (call) => {
    assert.equal(await call('zAdd', 's', abc), 3);
    assert.equal(await call('zAdd', 's', [['a', 0], ['c', 4]], { GT: true, CH: true }), 1);
    assert.equal(await call('zAdd', 's', [['a', 9]], { NX: true }), 0);
    assert.equal(await call('zIncrBy', 's', 0.5, 'a'), 1.5);
    assert.equal(await call('zScore', 's', 'c'), 4);
    assert.equal(await call('zScore', 's', 'nobody'), null);
    assert.deepEqual(await call('zMScore', 's', ['a', 'nobody', 'b']), [1.5, null, 2]);
    await call('zAdd', 's', [['top', Infinity], ['bottom', -Infinity]]);
    assert.deepEqual(await call('zRangeWithScores', 's', 0, -1),
      [['bottom', -Infinity], ['a', 1.5], ['b', 2], ['c', 4], ['top', Infinity]]);
    assert.equal(await call('zCard', 's'), 5);
    assert.equal(await call('zRank', 's', 'b'), 2);
    assert.equal(await call('zRevRank', 's', 'b'), 2);
    assert.equal(await call('zRank', 's', 'nobody'), null);
    assert.equal(await call('zCount', 's', '(1.5', '+inf'), 3);
    assert.equal(await call('zRem', 's', ['top', 'bottom', 'nobody']), 2);
    await call('set', 'str', 'x');
    await rejectsWith(call('zCard', 'str'), WRONG_TYPE);
  },

  'ranges of sorted sets': async (call) => {
    await call('zAdd', 'r', Array.from({ length: 100 }, (_, i) => [`m${i}`, i]));
    assert.deepEqual(await call('zRange', 'r', 0, 2), ['m0', 'm1', 'm2']);
    assert.deepEqual(await call('zRange', 'r', 0, 1, { REV: true }), ['m99', 'm98']);
    assert.deepEqual(await call('zRange', 'r', '(10', '+inf', { BY: 'SCORE', LIMIT: [1, 2] }),
      ['m12', 'm13']);
    assert.equal(await call('zRangeStore', 'r2', 'r', 5, 7), 3);
    assert.deepEqual(await call('zRangeWithScores', 'r2', 0, -1),
      [['m5', 5], ['m6', 6], ['m7', 7]]);
    await call('zAdd', 'lex', ['a', 'b', 'c', 'd'].map((name) => [name, 0]));
    assert.deepEqual(await call('zRange', 'lex', '[b', '(d', { BY: 'LEX' }), ['b', 'c']);
    assert.equal(await call('zLexCount', 'lex', '-', '[c'), 3);
    assert.equal(await call('zRemRangeByLex', 'lex', '[c', '+'), 2);
    assert.equal(await call('zRemRangeByScore', 'r', 50, '(60'), 10);
    assert.equal(await call('zRemRangeByRank', 'r', 0, 9), 10);
    const names = (await call('zScan', 'r')).map(([name]) => name);
    assert.equal(new Set(names).size, 80);
    const some = await call('zRandMember', 'r', 10);
    assert.equal(new Set(some).size, 10);
    for (const name of some) assert.ok(names.includes(name));
  },

  'sorted sets that are joined, and popped': async (call) => {
    await call('zAdd', 'x', abc);
    await call('zAdd', 'y', [['b', 10], ['c', 20], ['d', 30]]);
    assert.deepEqual(await call('zUnionWithScores', ['x', 'y']),
      [['a', 1], ['b', 12], ['c', 23.5], ['d', 30]]);
    assert.deepEqual(await call('zInterWithScores', ['x', 'y']), [['b', 12], ['c', 23.5]]);
    assert.deepEqual(await call('zDiff', ['x', 'y']), ['a']);
    assert.equal(await call('zInterCard', ['x', 'y'], { LIMIT: 1 }), 1);
    assert.equal(await call('zUnionStore', 'u', [['x', 2], ['y', 1]], 'MAX'), 4);
    assert.deepEqual(await call('zPopMin', 'u', 2), [['a', 2], ['b', 10]]);
    assert.deepEqual(await call('zPopMax', 'u', 1), [['d', 30]]);
    assert.deepEqual(await call('zMPop', ['nothing', 'u'], 'MIN', 5), ['u', [['c', 20]]]);
    assert.equal(await call('zMPop', ['u'], 'MIN', 5), null);
    assert.equal(await call('exists', ['u']), 0);
  },

  positions: async (call) => {
    assert.equal(await call('geoAdd', 'g', [palermo, catania]), 2);
    assert.equal(await call('geoDist', 'g', 'Palermo', 'Catania', 'km'), 166.2742);
    assert.deepEqual(await call('geoPos', 'g', ['Palermo', 'nobody']), [palermoPosition, null]);
    assert.deepEqual(await call('geoHash', 'g', ['Palermo', 'nobody']), ['sqc8b49rny0', null]);
    const circle = ['g', { longitude: 15, latitude: 37 }, { radius: 200, unit: 'km' }];
    assert.deepEqual(await call('geoSearch', ...circle, 'ASC'), ['Catania', 'Palermo']);
    assert.deepEqual(await call('geoSearchWithDistance', ...circle, 'DESC'),
      [['Palermo', 190.4424], ['Catania', 56.4413]]);
    assert.equal(await call('geoSearchStore', 'g2', ...circle), 2);
    assert.equal(await call('zCard', 'g2'), 2);
    await rejectsWith(call('geoSearch', 'g', 'nobody', { radius: 1, unit: 'km' }, 'ASC'),
      'ERR could not decode requested zset member');
  },
};

// ---- transactions, messages, waiting ----------------------------------------------

const exchanges = {
  transactions: async (client) => {
    const call = (...words) => client.call(...words);
    await call('del', ['t', 'tz']);
    const replies = await client.transaction([
      ['set', 't', '5'], ['incrBy', 't', 2], ['get', 't'], ['zAdd', 'tz', abc],
      ['zCard', 't'], ['zRangeWithScores', 'tz', 0, 1], ['geoAdd', 'tg', [palermo]],
      ['geoPos', 'tg', ['Palermo']]]);
    assert.equal(replies[4].message, WRONG_TYPE); // and the others have run
    assert.deepEqual(replies.toSpliced(4, 1), [
      'OK', 7, '7', 3, [['a', 1], ['b', 2]], 1, [palermoPosition]]);
    await assert.rejects(client.transaction([['set', 't', 'x'], ['raw', ['NOSUCHCOMMAND']]]));
    await assert.rejects(client.transaction([['set', 't', 'x'], ['raw', ['GET']]]));
    assert.equal(await call('get', 't'), '7');
  },

  'watched keys': async (client, openAnother) => {
    const other = await openAnother();
    const call = (...words) => client.call(...words);
    await call('set', 'w', '1');

    await call('watch', ['w', 'wz']);
    assert.deepEqual(await client.transaction([['incr', 'w']]), [2]);

    await call('watch', ['w', 'wz']);
    await other.call('zAdd', 'wz', abc);
    assert.equal(await client.transaction([['incr', 'w']]), null);
    assert.equal(await call('get', 'w'), '2');

    await call('watch', ['w']);
    await other.call('del', ['w']);
    await call('unwatch');
    assert.deepEqual(await client.transaction([['incr', 'w']]), [1]);

    // Two that count with WATCH lose nothing.
    async function addOne(one) {
      for (;;) {
        await one.call('watch', ['sum']);
        const sum = Number(await one.call('get', 'sum'));
        if (await one.transaction([['set', 'sum', String(sum + 1)]])) return;
      }
    }
    async function addTwenty(one) {
      for (let i = 0; i < 20; i++) await addOne(one);
    }
    await Promise.all([addTwenty(client), addTwenty(other)]);
    assert.equal(await call('get', 'sum'), '40');
  },

  'publish and subscribe': async (client, openAnother) => {
    const subscriber = await openAnother();
    const call = (...words) => client.call(...words);
    const [plain, matching] = [new Inbox(), new Inbox()];
    await subscriber.subscribe('channel', 'news', plain.add);
    await subscriber.subscribe('channel', 'other', plain.add);
    await subscriber.subscribe('pattern', 'n?ws*', matching.add);
    assert.deepEqual((await call('pubSubChannels', '*')).sort(), ['news', 'other']);
    assert.equal(await call('pubSubNumSub', 'news'), 1);
    assert.equal(await call('pubSubNumPat'), 1);

    assert.equal(await call('publish', 'news', 'one'), 2);
    assert.deepEqual(await plain.take(), ['one', 'news']);
    assert.deepEqual(await matching.take(), ['one', 'news']);
    assert.equal(await call('publish', 'nowsreel', 'двa\r\n'), 1);
    assert.deepEqual(await matching.take(), ['двa\r\n', 'nowsreel']);
    assert.equal(await call('publish', 'nobody listens', 'x'), 0);

    await subscriber.unsubscribe('channel', 'news');
    assert.equal(await call('publish', 'news', 'two'), 1);
    assert.deepEqual(await matching.take(), ['two', 'news']);
    for (let i = 0; i < 500; i++) call('publish', 'other', `n${i}`);
    for (let i = 0; i < 500; i++) {
      assert.deepEqual(await plain.take(), [`n${i}`, 'other']);
    }
    await subscriber.unsubscribe('pattern', 'n?ws*');
    await subscriber.unsubscribe('channel', 'other');
    assert.equal(await call('pubSubNumPat'), 0);
    assert.deepEqual(await call('pubSubChannels', '*'), []);
    assert.ok(plain.isEmpty && matching.isEmpty);
  },

  'messages on sharded channels': async (client, openAnother) => {
    const subscriber = await openAnother();
    const sharded = new Inbox();
    await subscriber.subscribe('shard', 'orders', sharded.add);
    assert.equal(await client.call('pubSubShardNumSub', 'orders'), 1);
    assert.equal(await client.call('sPublish', 'orders', 'one'), 1);
    assert.deepEqual(await sharded.take(), ['one', 'orders']);
    assert.equal(await client.call('publish', 'orders', 'not here'), 0);
    await subscriber.unsubscribe('shard', 'orders');
    assert.equal(await client.call('sPublish', 'orders', 'two'), 0);
    assert.ok(sharded.isEmpty);
  },

  'events of keys': async (client, openAnother) => {
    const subscriber = await openAnother();
    const events = new Inbox();
    await client.call('configSet', 'notify-keyspace-events', 'Egz$x');
    await subscriber.subscribe('pattern', '__keyevent@0__:*', (key, channel) =>
      key.startsWith('e') && events.add(key, channel));
    await client.call('set', 'e', 'v');
    await client.call('geoAdd', 'ez', [palermo]);
    await client.call('zRem', 'ez', ['Palermo']);
    await client.call('pExpire', 'e', 1);
    const expected = [['e', 'set'], ['ez', 'zadd'], ['ez', 'zrem'], ['ez', 'del'],
      ['e', 'expire'], ['e', 'expired']];
    for (const [key, event] of expected) {
      assert.deepEqual(await events.take(), [key, `__keyevent@0__:${event}`]);
    }
    await subscriber.unsubscribe('pattern', '__keyevent@0__:*');
    await client.call('configSet', 'notify-keyspace-events', '');
  },

  'pops that wait': async (client, openAnother) => {
    const waiting = await openAnother();
    const call = (...words) => client.call(...words);
    const isBlocked = async () => /blocked_clients:1\r?\n/.test(await call('info', 'clients'));

    let popped = waiting.call('bzPopMin', ['q1', 'q2'], 0);
    await until('the client waits', isBlocked);
    await call('zAdd', 'q2', abc);
    assert.deepEqual(await popped, ['q2', 'a', 1]);
    assert.deepEqual(await waiting.call('bzPopMax', ['q1', 'q2'], 0), ['q2', 'c', 3.5]);
    assert.deepEqual(await waiting.call('bzMPop', 0, ['q1', 'q2'], 'MIN', 5),
      ['q2', [['b', 2]]]);

    popped = waiting.call('bzMPop', 0, ['q1', 'q2'], 'MAX', 2);
    await until('the client waits', isBlocked);
    await client.transaction([['zAdd', 'q1', abc], ['zRem', 'q1', ['c']]]);
    assert.deepEqual(await popped, ['q1', [['b', 2], ['a', 1]]]);
    assert.equal(await call('exists', ['q1', 'q2']), 0);

    const start = Date.now();
    assert.equal(await waiting.call('bzPopMin', ['q1'], 0.1), null);
    assert.ok(Date.now() - start >= 95);
    assert.equal(await waiting.call('bzMPop', 0.01, ['q1'], 'MIN', 1), null);
  },
};

// ---- the server dies --------------------------------------------------------------

const restarts = {
  'a server that is killed and comes back': async (client, openAnother) => {
    const named = await openAnother({ name: 'tester', db: 3 });
    const subscriber = await openAnother();
    const inbox = new Inbox();
    await subscriber.subscribe('channel', 'news', inbox.add);
    await subscriber.subscribe('pattern', 'p*', inbox.add);
    await subscriber.subscribe('shard', 'orders', inbox.add);
    await named.call('set', 'kept', 'in memory');

    const all = [client, named, subscriber];
    const lost = Promise.all(all.map((each) => each.lost()));
    const ready = Promise.all(all.map((each) => each.ready()));
    await keeper('kill');
    await lost;
    const early = named.call('set', 'early', 'asked while there was no server');
    await keeper('start');
    await ready;

    assert.equal(await early, 'OK');
    assert.equal(await named.call('get', 'kept'), null);
    const info = await named.call('clientInfo');
    assert.equal(info.name, 'tester');
    assert.equal(Number(info.db), 3);
    await until('all subscriptions are back', async () =>
      await client.call('pubSubNumSub', 'news') === 1
      && await client.call('pubSubNumPat') === 1
      && await client.call('pubSubShardNumSub', 'orders') === 1);
    assert.equal(await client.call('publish', 'news', 'again'), 1);
    assert.equal(await client.call('publish', 'pn', 'again'), 1);
    assert.equal(await client.call('sPublish', 'orders', 'again'), 1);
    const channels = [await inbox.take(), await inbox.take(), await inbox.take()];
    assert.deepEqual(channels, [['again', 'news'], ['again', 'pn'], ['again', 'orders']]);
    assert.deepEqual(await client.transaction([['set', 'k', 'v'], ['get', 'k']]), ['OK', 'v']);
    await client.call('flushAll');
  },
};
