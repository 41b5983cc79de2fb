export { lockOnMysql } from './lock-on-mysql.js';
