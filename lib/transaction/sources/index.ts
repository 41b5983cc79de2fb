export { openSession } from './open-session.js';
export { ended, PLACE } from './shape.js';
