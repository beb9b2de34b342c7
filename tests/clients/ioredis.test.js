// ioredis in RESP2 and RESP3, and with replies as RESP3 has them.
import { Redis } from 'ioredis';
import { describeClient } from './ioredis_tests.js';

describeClient('ioredis', Redis, [
  { protocol: 2 }, { protocol: 3 }, { protocol: 3, replyMapping: 'resp3' }]);
