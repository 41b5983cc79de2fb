const { test } = require('@jest/globals');

test('Nest alone can be required', () => {
  require('@nestjs/common');
});
