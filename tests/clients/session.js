// What both clients check: names, positions and right answers of one GEO session.
import assert from 'node:assert/strict';

export const port = Number(process.env.YONDER_PORT);
assert.ok(port, 'YONDER_PORT is not set: run tests/clients/test_clients.py');

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
