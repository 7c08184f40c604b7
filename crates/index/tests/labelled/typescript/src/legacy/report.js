const { pad: fill, Table } = require('./text');
const text = require('./text');

function header(name) {
  return fill(name);
}

function body(rows) {
  const table = new Table(rows);
  return table.render();
}

module.exports = {
  print(rows) {
    return header('loans') + body(rows) + text.pad('end');
  },
};
