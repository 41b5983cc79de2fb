export { openSession } from './open-session.js';
export { PLACE } from './shape.js';
