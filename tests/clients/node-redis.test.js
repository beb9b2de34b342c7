// node-redis (npm package redis) in RESP2 and RESP3: a GEO session with its own functions, and
// session.js.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BasicClientSideCache, createClient, GEO_REPLY_WITH } from 'redis';
import { openAdapter } from './node-redis.js';
import { describeSession } from './session.js';
import * as session from './world.js';

const { palermo, catania } = session;
const center = { longitude: 15, latitude: 37 };
const circle = { radius: 200, unit: 'km' };

for (const RESP of [2, 3]) {
  describe(`node-redis, RESP${RESP}`, () => {
    const key = `node-redis:${RESP}`;
    const client = createClient({ RESP, socket: { port: session.port, host: '127.0.0.1' } });

    before(async () => {
      client.on('error', (error) => { throw error; });
      await client.connect();
      await client.del([key, `${key}:d`]);
    });
    after(() => client.close());

    it('connects', async () => {
      assert.equal(await client.ping(), 'PONG');
      const name = `tester-${RESP}`;
      await client.clientSetName(name);
      assert.equal(await client.clientGetName(), name);
    });

    it('adds', async () => {
      assert.equal(await client.geoAdd(key, [palermo, catania]), 2);
      assert.equal(await client.geoAdd(key, palermo, { CH: true }), 0);
      assert.equal(await client.geoAdd(key, { ...palermo, longitude: 13 }, { NX: true }), 0);
      assert.equal(await client.geoAdd(key, { ...palermo, member: 'x' }, { XX: true }), 0);
      assert.equal(await client.zCard(key), 2);
    });

    it('gives positions, distances and hashes', async () => {
      const positions = await client.geoPos(key, ['Palermo', 'nobody', 'Catania']);
      assert.equal(positions[1], null);
      assert.equal(Number(positions[0].longitude), session.palermoPosition[0]);
      assert.equal(Number(positions[0].latitude), session.palermoPosition[1]);
      assert.equal(Number(positions[2].longitude), session.cataniaPosition[0]);
      assert.equal(await client.geoDist(key, 'Palermo', 'Catania'), 166274.1516);
      assert.equal(await client.geoDist(key, 'Palermo', 'Catania', 'mi'), 103.3182);
      assert.equal(await client.geoDist(key, 'Palermo', 'nobody'), null);
      assert.deepEqual(await client.geoHash(key, ['Palermo', 'nobody', 'Catania']),
        ['sqc8b49rny0', null, 'sqdtr74hyu0']);
    });

    it('searches', async () => {
      assert.deepEqual(await client.geoSearch(key, center, circle, { SORT: 'ASC' }),
        ['Catania', 'Palermo']);
      assert.deepEqual(await client.geoSearch(key, 'Palermo', { width: 400, height: 400, unit: 'km' },
        { SORT: 'DESC', COUNT: { value: 1, ANY: false } }), ['Catania']);
      assert.deepEqual(await client.geoSearch(key, center, { radius: 1, unit: 'm' }), []);
      assert.deepEqual(await client.geoSearch(`${key}:none`, center, circle), []);
    });

    it('searches with distance, hash and coordinates', async () => {
      const found = await client.geoSearchWith(key, center, circle,
        [GEO_REPLY_WITH.DISTANCE, GEO_REPLY_WITH.HASH, GEO_REPLY_WITH.COORDINATES],
        { SORT: 'ASC' });
      assert.deepEqual(found.map((hit) => hit.member), ['Catania', 'Palermo']);
      assert.deepEqual(found.map((hit) => Number(hit.distance)), [56.4413, 190.4424]);
      assert.deepEqual(found.map((hit) => hit.hash), [session.cataniaHash, session.palermoHash]);
      assert.deepEqual(
        [Number(found[1].coordinates.longitude), Number(found[1].coordinates.latitude)],
        session.palermoPosition);
    });

    it('runs the older commands', async () => {
      assert.deepEqual((await client.geoRadius(key, center, 200, 'km')).sort(),
        ['Catania', 'Palermo']);
      assert.deepEqual(await client.geoRadiusRo(key, center, 100, 'km'), ['Catania']);
      assert.deepEqual(await client.geoRadiusByMember(key, 'Palermo', 100, 'km'), ['Palermo']);
      assert.deepEqual(await client.geoRadiusByMemberRo(key, 'Palermo', 200, 'km',
        { SORT: 'ASC' }), ['Palermo', 'Catania']);
    });

    it('stores', async () => {
      const to = `${key}:d`;
      assert.equal(await client.geoSearchStore(to, key, center, circle), 2);
      assert.deepEqual(await client.zRangeWithScores(to, 0, -1), [
        { value: 'Palermo', score: session.palermoHash },
        { value: 'Catania', score: session.cataniaHash }]);
      assert.equal(await client.geoSearchStore(to, key, center, circle, { STOREDIST: true }), 2);
      assert.deepEqual(await client.zRangeWithScores(to, 0, -1), [
        { value: 'Catania', score: 56.4412578701582 },
        { value: 'Palermo', score: 190.44242984775784 }]);
      assert.equal(await client.geoRadiusStore(key, center, 100, 'km', to), 1);
      assert.deepEqual(await client.zRange(to, 0, -1), ['Catania']);
    });

    it('reports errors', async () => {
      await client.set(`${key}:s`, 'x');
      await session.rejectsWith(client.geoPos(`${key}:s`, 'm'),
        'WRONGTYPE Operation against a key holding the wrong kind of value');
      await session.rejectsWith(client.geoAdd(key, { longitude: 200, latitude: 1, member: 'm' }),
        'ERR invalid longitude,latitude pair 200.000000,1.000000');
      await session.rejectsWith(client.geoSearch(key, 'nobody', circle),
        'ERR could not decode requested zset member');
      await session.rejectsWith(client.sendCommand(['GEODIST', key, 'a']),
        "ERR wrong number of arguments for 'geodist' command");
    });

    it('pipelines, and scans what it wrote', async () => {
      const many = Array.from({ length: 1000 }, (_, i) =>
        client.geoAdd(`${key}:m`, { longitude: i / 10, latitude: 1, member: `m${i}` }));
      assert.equal((await Promise.all(many)).reduce((sum, n) => sum + n), 1000);
      const seen = new Set();
      for await (const page of client.zScanIterator(`${key}:m`)) {
        for (const entry of Array.isArray(page) ? page : [page]) seen.add(entry.value);
      }
      assert.equal(seen.size, 1000);
      assert.equal(await client.del(`${key}:m`), 1);
    });
  });

  const socket = { port: session.port, host: '127.0.0.1', reconnectStrategy: () => 10 };
  describeSession(`node-redis in a session, RESP${RESP}`,
    (more) => openAdapter({ RESP, socket }, more));
}

describe('node-redis with a cache of its own', () => {
  const cache = new BasicClientSideCache();
  const socket = { port: session.port, host: '127.0.0.1', reconnectStrategy: () => 10 };
  const caching = createClient({ RESP: 3, socket, clientSideCache: cache });
  const other = createClient({ RESP: 3, socket });
  before(async () => {
    for (const client of [caching, other]) {
      client.on('error', () => {});
      await client.connect();
    }
    await other.flushAll();
  });
  after(() => {
    caching.destroy();
    other.destroy();
  });

  it('answers from it until the key changes', async () => {
    await other.set('c', 'one');
    await other.geoAdd('cz', [palermo]);
    assert.equal(await caching.get('c'), 'one');
    assert.equal(await caching.zCard('cz'), 1);
    const { hitCount, missCount } = cache.stats();
    assert.equal(await caching.get('c'), 'one');
    assert.equal(await caching.zCard('cz'), 1);
    assert.equal(cache.stats().hitCount, hitCount + 2);
    assert.equal(cache.stats().missCount, missCount);
    await other.set('c', 'two');
    await session.until('the new text', async () => await caching.get('c') === 'two');
    await other.geoAdd('cz', [catania]);
    await session.until('the new set', async () => await caching.zCard('cz') === 2);
    await other.flushAll();
    await session.until('no text', async () => await caching.get('c') === null);
  });

  it('forgets it when the connection is lost', async () => {
    await other.set('c', 'one');
    await session.until('the text', async () => await caching.get('c') === 'one');
    const ready = Promise.all([caching, other].map((each) => session.event(each, 'ready')));
    await session.keeper('kill');
    await session.keeper('start');
    await ready;
    assert.equal(await caching.get('c'), null);
    await other.set('c', 'two');
    await session.until('the new text', async () => await caching.get('c') === 'two');
  });
});
