// iovalkey, which speaks RESP2.
import Redis from 'iovalkey';
import { describeClient } from './ioredis_tests.js';

describeClient('iovalkey', Redis, [{ protocol: 2 }]);
