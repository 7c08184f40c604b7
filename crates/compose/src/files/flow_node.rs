//! The values of a flow file as one tree, whichever format they are written in.
//!
//! Each value and each key remembers where it stands, so that what is wrong with a value is said
//! with its line in TOML and in JSON alike.

use std::ops::Range;

use toml_edit::{Document, Item, Key, Table, TableLike, Value};

/// Where something stands, in bytes.
pub(crate) type Span = Option<Range<usize>>;

/// One value of a flow file.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlowNode {
    pub(crate) span: Span,
    pub(crate) value: FlowValue,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum FlowValue {
    Nothing,
    Text(String),
    Integer(i64),
    Float(f64),
    Flag(bool),
    Date,
    List(Vec<FlowNode>),
    Table(Vec<FlowEntry>),
}

/// One key of a table and its value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct FlowEntry {
    pub(crate) key: String,
    pub(crate) span: Span,
    pub(crate) node: FlowNode,
}

impl FlowNode {
    /// The tree of a TOML document.
    pub(crate) fn of_toml(document: &Document<&str>) -> Self {
        of_table(document.as_table(), None)
    }

    pub(crate) fn entries(&self) -> Option<&[FlowEntry]> {
        match &self.value {
            FlowValue::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The same table without one of its keys.
    pub(crate) fn without(mut self, key: &str) -> Self {
        if let FlowValue::Table(entries) = &mut self.value {
            entries.retain(|entry| entry.key != key);
        }
        self
    }

    pub(crate) fn list(&self) -> Option<&[FlowNode]> {
        match &self.value {
            FlowValue::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            FlowValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of value it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            FlowValue::Nothing => "nothing",
            FlowValue::Text(_) => "text",
            FlowValue::Integer(_) => "a whole number",
            FlowValue::Float(_) => "a number",
            FlowValue::Flag(_) => "true or false",
            FlowValue::Date => "a date",
            FlowValue::List(_) => "a list",
            FlowValue::Table(_) => "a table",
        }
    }
}

fn of_table(table: &dyn TableLike, span: Span) -> FlowNode {
    let keys = table.iter().filter_map(|(name, _)| table.get_key_value(name));
    let entry = |(key, item): (&Key, &Item)| FlowEntry {
        key: key.get().to_owned(),
        span: key.span(),
        node: of_item(item),
    };
    FlowNode { span, value: FlowValue::Table(keys.map(entry).collect()) }
}

fn of_item(item: &Item) -> FlowNode {
    match item {
        Item::None => FlowNode { span: None, value: FlowValue::Nothing },
        Item::Table(table) => of_table(table, table.span()),
        Item::ArrayOfTables(tables) => {
            let all = tables.iter().map(|one: &Table| of_table(one, one.span()));
            FlowNode { span: tables.span(), value: FlowValue::List(all.collect()) }
        }
        Item::Value(value) => of_value(value),
    }
}

fn of_value(value: &Value) -> FlowNode {
    let found = match value {
        Value::String(text) => FlowValue::Text(text.value().clone()),
        Value::Integer(number) => FlowValue::Integer(*number.value()),
        Value::Float(number) => FlowValue::Float(*number.value()),
        Value::Boolean(flag) => FlowValue::Flag(*flag.value()),
        Value::Datetime(_) => FlowValue::Date,
        Value::Array(array) => FlowValue::List(array.iter().map(of_value).collect()),
        Value::InlineTable(table) => return of_table(table, value.span()),
    };
    FlowNode { span: value.span(), value: found }
}
