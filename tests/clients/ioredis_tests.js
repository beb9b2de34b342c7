// What is asked of the clients of ioredis's kind: a GEO session with their own functions, and
// session.js.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openAdapter } from './ioredis.js';
import { describeSession } from './session.js';
import * as session from './world.js';

const palermo = [13.361389, 38.115556, 'Palermo'];
const catania = [15.087269, 37.502669, 'Catania'];
const circle = ['FROMLONLAT', 15, 37, 'BYRADIUS', 200, 'km'];
/** Runs both for each of the kinds, which are options of the client's constructor. */
export function describeClient(name, Client, kinds) {
  for (const options of kinds) {
    const title = `RESP${options.protocol}${options.replyMapping ? ' mapped' : ''}`;
    describe(`${name}, ${title}`, () => {
      const key = `${name}:${title}`;
      const client = new Client({ ...options, host: '127.0.0.1', port: session.port,
        lazyConnect: true, retryStrategy: null });

      before(async () => {
        await client.connect();
        await client.del(key, `${key}:d`, `${key}:s`);
      });
      after(() => client.quit());

      it('connects', async () => {
        assert.equal(await client.ping(), 'PONG');
        const info = await client.client('INFO');
        assert.match(String(info), new RegExp(`resp=${options.protocol}`));
      });

      it('adds', async () => {
        assert.equal(await client.geoadd(key, ...palermo, ...catania), 2);
        assert.equal(await client.geoadd(key, 'CH', ...palermo), 0);
        assert.equal(await client.geoadd(key, 'NX', 13, 38, 'Palermo'), 0);
        assert.equal(await client.zcard(key), 2);
      });

      it('gives positions, distances and hashes', async () => {
        const positions = await client.geopos(key, 'Palermo', 'nobody');
        assert.deepEqual(positions[0].map(Number), session.palermoPosition);
        assert.equal(positions[1], null);
        assert.equal(await client.geodist(key, 'Palermo', 'Catania', 'km'), '166.2742');
        assert.equal(await client.geodist(key, 'Palermo', 'nobody'), null);
        assert.deepEqual(await client.geohash(key, 'Palermo', 'nobody'),
          ['sqc8b49rny0', null]);
      });

      it('searches', async () => {
        assert.deepEqual(await client.geosearch(key, ...circle, 'ASC'), ['Catania', 'Palermo']);
        assert.deepEqual(await client.geosearch(key, 'FROMMEMBER', 'Palermo',
          'BYBOX', 400, 400, 'km', 'ASC', 'COUNT', 1), ['Palermo']);
        const found = await client.geosearch(key, ...circle, 'ASC', 'WITHCOORD', 'WITHDIST',
          'WITHHASH');
        assert.deepEqual(found.map((hit) => hit.slice(0, 3)), [
          ['Catania', '56.4413', session.cataniaHash], ['Palermo', '190.4424', session.palermoHash]]);
        assert.deepEqual(found[1][3].map(Number), session.palermoPosition);
        assert.deepEqual(await client.geosearch(`${key}:none`, ...circle), []);
      });

      it('runs the older commands', async () => {
        assert.deepEqual(await client.georadius(key, 15, 37, 200, 'km', 'WITHDIST', 'DESC'),
          [['Palermo', '190.4424'], ['Catania', '56.4413']]);
        assert.deepEqual(await client.georadius_ro(key, 15, 37, 100, 'km'), ['Catania']);
        assert.deepEqual(await client.georadiusbymember(key, 'Palermo', 100, 'km'), ['Palermo']);
        assert.deepEqual(await client.georadiusbymember_ro(key, 'Catania', 1, 'm'), ['Catania']);
      });

      it('stores', async () => {
        const to = `${key}:d`;
        assert.equal(await client.geosearchstore(to, key, ...circle), 2);
        assert.equal(Number(await client.zscore(to, 'Palermo')), session.palermoHash);
        assert.equal(await client.georadius(key, 15, 37, 200, 'km', 'STOREDIST', to), 2);
        // ioredis reads RESP3 doubles digit by digit, which may cost the last one.
        assert.ok(Math.abs(await client.zscore(to, 'Catania') - 56.4412578701582) < 1e-12);
        const flat = (await client.zrange(to, 0, -1, 'WITHSCORES')).flat();
        assert.deepEqual([flat[0], flat[2]], ['Catania', 'Palermo']);
        assert.ok(Math.abs(flat[1] - 56.4412578701582) < 1e-12);
        assert.ok(Math.abs(flat[3] - 190.44242984775784) < 1e-12);
      });

      it('reports errors', async () => {
        await client.set(`${key}:s`, 'x');
        await session.rejectsWith(client.geohash(`${key}:s`, 'm'),
          'WRONGTYPE Operation against a key holding the wrong kind of value');
        await session.rejectsWith(client.geosearch(key, ...circle, 'COUNT', 0),
          'ERR COUNT must be > 0');
        await session.rejectsWith(client.geosearch(key, 'FROMMEMBER', 'nobody', 'BYRADIUS', 1, 'km'),
          'ERR could not decode requested zset member');
      });

      it('pipelines, and scans what it wrote', async () => {
        const pipeline = client.pipeline();
        for (let i = 0; i < 1000; i++) pipeline.geoadd(`${key}:m`, i / 10, 1, `m${i}`);
        for (const [error, n] of await pipeline.exec()) {
          assert.equal(error, null);
          assert.equal(n, 1);
        }
        const seen = new Set();
        for await (const page of client.zscanStream(`${key}:m`)) {
          for (let i = 0; i < page.length; i += 2) seen.add(page[i]);
        }
        assert.equal(seen.size, 1000);
        assert.equal(await client.del(`${key}:m`), 1);
      });
    });

    describeSession(`${name} in a session, ${title}`,
      (more) => openAdapter(Client, { ...options, port: session.port }, more));
  }
}
