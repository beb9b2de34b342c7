// node-redis and ioredis over TLS: the server's certificate is checked, and the server wants
// one of the client.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Redis } from 'ioredis';
import { createClient } from 'redis';

const port = Number(process.env.YONDER_TLS_PORT);
const read = (name) => readFileSync(join(process.env.YONDER_TLS_FOLDER, name));
const ca = read('ca.crt');
const pair = (name) => ({ cert: read(`${name}.crt`), key: read(`${name}.key`) });
const address = { host: 'localhost', port };

describe('node-redis over TLS', () => {
  const open = (more) =>
    createClient({ socket: { ...address, tls: true, ca, reconnectStrategy: false, ...more } })
      .on('error', () => {});

  it('works with a certificate', async () => {
    const client = await open(pair('client')).connect();
    const member = 'x'.repeat(100000);
    assert.equal(await client.geoAdd('k', { longitude: 1, latitude: 2, member }), 1);
    assert.deepEqual(await client.geoSearch(
      'k', { longitude: 1, latitude: 2 }, { radius: 1, unit: 'km' }), [member]);
    await client.close();
  });

  it('is refused without one', async () => {
    const client = open({});
    await assert.rejects(async () => { await client.connect(); await client.ping(); });
    client.destroy();
  });

  it('is refused with one that has expired', async () => {
    const client = open(pair('late'));
    await assert.rejects(async () => { await client.connect(); await client.ping(); });
    client.destroy();
  });
});

describe('ioredis over TLS', () => {
  it('works with a certificate', async () => {
    const client = new Redis({ ...address, tls: { ca, ...pair('client') } });
    assert.equal(await client.ping(), 'PONG');
    const replies = await client.pipeline([['set', 'a', '1'], ['get', 'a']]).exec();
    assert.deepEqual(replies, [[null, 'OK'], [null, '1']]);
    await client.quit();
  });

  it('refuses a server of another authority', async () => {
    const client = new Redis({ ...address, tls: { ...pair('client') },
      retryStrategy: null, maxRetriesPerRequest: 0 });
    client.on('error', () => {});
    await assert.rejects(client.ping());
    client.disconnect();
  });
});
