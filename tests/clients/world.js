// Where the server is, the positions that all clients use, and small helpers.
import assert from 'node:assert/strict';
import { connect } from 'node:net';

export const port = Number(process.env.YONDER_PORT);
const keeperPort = Number(process.env.YONDER_KEEPER_PORT);
assert.ok(port && keeperPort, 'no YONDER_PORT: run tests/clients/test_node_clients.py');

export const palermo = { longitude: 13.361389, latitude: 38.115556, member: 'Palermo' };
export const catania = { longitude: 15.087269, latitude: 37.502669, member: 'Catania' };
export const palermoHash = 3479099956230698;
export const cataniaHash = 3479447370796909;
export const palermoPosition = [13.361389338970184, 38.1155563954963];
export const cataniaPosition = [15.087267458438873, 37.50266842333162];

export async function rejectsWith(promise, text) {
  await assert.rejects(promise, (error) => {
    assert.equal(error.message, text);
    return true;
  });
}

/** Tells the keeper of the server (keeper.py) to 'kill' it, or to 'start' it again on the
    same port, and waits until that is done. */
export function keeper(verb) {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(keeperPort, '127.0.0.1', () => socket.write(`${verb}\r\n`));
    socket.setEncoding('utf8');
    socket.on('error', reject);
    socket.on('data', (text) => {
      answer += text;
      if (answer.endsWith('\r\n')) socket.end();
    });
    socket.on('close', () =>
      answer === '+OK\r\n' ? resolve() : reject(new Error(`keeper: ${answer}`)));
  });
}

/** The next event of that name, whatever errors come before it. */
export function event(emitter, name) {
  return new Promise((resolve) => { emitter.once(name, resolve); });
}

/** Asks again and again until the answer is true. */
export async function until(what, ask, limitMs = 10000) {
  const end = Date.now() + limitMs;
  while (!await ask()) {
    assert.ok(Date.now() < end, `${what}: not within ${limitMs} ms`);
    await new Promise((resolve) => { setTimeout(resolve, 2); });
  }
}

/** A list to which one side adds and that the other side takes from, waiting if needed. */
export class Inbox {
  #items = [];
  #waiting = [];

  add = (...item) => {
    const taker = this.#waiting.shift();
    if (taker) taker(item); else this.#items.push(item);
  };

  take(limitMs = 10000) {
    if (this.#items.length > 0) return Promise.resolve(this.#items.shift());
    return new Promise((resolve, reject) => {
      const limit = setTimeout(() => reject(new Error('nothing more has come')), limitMs);
      this.#waiting.push((item) => {
        clearTimeout(limit);
        resolve(item);
      });
    });
  }

  get isEmpty() { return this.#items.length === 0; }
}
