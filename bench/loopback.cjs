// Loaded before a Node program under test: whatever it listens on, it listens on 127.0.0.1 only.
'use strict';
const { Server } = require('net');
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  if (args[0] && typeof args[0] === 'object' && 'port' in args[0]) args[0] = { ...args[0], host: '127.0.0.1' };
  else if (typeof args[0] === 'number' || (typeof args[0] === 'string' && /^\d+$/.test(args[0])))
    args.splice(1, typeof args[1] === 'string' ? 1 : 0, '127.0.0.1');
  return listen.apply(this, args);
};
