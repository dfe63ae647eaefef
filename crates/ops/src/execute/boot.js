// Given to Node on its command line; old ones must understand it. The rest comes with the first line on stdin.
var fs = require('fs');
var Module = require('module');
var parts = [];
var buffer = Buffer.alloc(65536);
var count;
do {
  count = fs.readSync(0, buffer, 0, buffer.length, null);
  if (count === 0) process.exit();
  parts.push(Buffer.from(buffer.slice(0, count)));
} while (buffer[count - 1] !== 10);
var hello = JSON.parse(Buffer.concat(parts).toString());
if (parseInt(process.versions.node, 10) < 18) {
  fs.writeSync(1, '\n' + hello.key + JSON.stringify({ event: 'old_node', version: process.version }) + '\n');
} else {
  var file = require('path').resolve('bowline-execute.cjs');
  var runner = new Module(file);
  runner.filename = file;
  runner._compile(hello.source, file);
  runner.exports(hello);
}
