export { lockOnPostgres } from './lock-on-postgres.js';
