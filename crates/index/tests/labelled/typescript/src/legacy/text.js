'use strict';

function pad(text) {
  return ('          ' + text).slice(-10);
}

function Table(rows) {
  this.rows = rows;
}

Table.prototype.render = function () {
  return this.rows.map(pad).join(this.separator());
};

Table.prototype.separator = function () {
  return pad('');
};

exports.title = (text) => pad(text).toUpperCase();

module.exports = { pad, Table, title: exports.title };
