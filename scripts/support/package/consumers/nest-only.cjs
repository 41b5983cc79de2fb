require('@nestjs/common');
