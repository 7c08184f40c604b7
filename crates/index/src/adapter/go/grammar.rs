//! The grammar's nodes and fields that the adapter has rules for, by number.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::Kinds;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Nothing below it matters.
    Leaf,
    Comment,
    SourceFile,
    PackageClause,
    ImportSpec,
    Function,
    Method,
    ConstDeclaration,
    VarDeclaration,
    TypeDeclaration,
    TypeSpec,
    ValueSpec,
    InterfaceMethod,
    Field,
    TypeElement,
    TypeParameter,
    FunctionLiteral,
    FunctionType,
    /// A statement that variables are gone after.
    Scope,
    TypeSwitch,
    TypeCase,
    ShortVar,
    Range,
    Receive,
    Call,
    Identifier,
    Selector,
    Composite,
    Unary,
    Parenthesized,
    Assertion,
    Index,
    TypeName,
    QualifiedType,
    Pointer,
    Generic,
    Struct,
    Interface,
}

const KINDS: &[(&str, Kind)] = &[
    ("interpreted_string_literal", Kind::Leaf),
    ("raw_string_literal", Kind::Leaf),
    ("comment", Kind::Comment),
    ("source_file", Kind::SourceFile),
    ("package_clause", Kind::PackageClause),
    ("import_spec", Kind::ImportSpec),
    ("function_declaration", Kind::Function),
    ("method_declaration", Kind::Method),
    ("const_declaration", Kind::ConstDeclaration),
    ("var_declaration", Kind::VarDeclaration),
    ("type_declaration", Kind::TypeDeclaration),
    ("type_spec", Kind::TypeSpec),
    ("type_alias", Kind::TypeSpec),
    ("const_spec", Kind::ValueSpec),
    ("var_spec", Kind::ValueSpec),
    ("method_elem", Kind::InterfaceMethod),
    ("field_declaration", Kind::Field),
    ("type_elem", Kind::TypeElement),
    ("type_parameter_declaration", Kind::TypeParameter),
    ("func_literal", Kind::FunctionLiteral),
    ("function_type", Kind::FunctionType),
    ("block", Kind::Scope),
    ("if_statement", Kind::Scope),
    ("for_statement", Kind::Scope),
    ("expression_switch_statement", Kind::Scope),
    ("expression_case", Kind::Scope),
    ("default_case", Kind::Scope),
    ("communication_case", Kind::Scope),
    ("type_switch_statement", Kind::TypeSwitch),
    ("type_case", Kind::TypeCase),
    ("short_var_declaration", Kind::ShortVar),
    ("range_clause", Kind::Range),
    ("receive_statement", Kind::Receive),
    ("call_expression", Kind::Call),
    ("identifier", Kind::Identifier),
    ("selector_expression", Kind::Selector),
    ("composite_literal", Kind::Composite),
    ("unary_expression", Kind::Unary),
    ("parenthesized_expression", Kind::Parenthesized),
    ("type_assertion_expression", Kind::Assertion),
    ("index_expression", Kind::Index),
    ("type_instantiation_expression", Kind::Index),
    ("type_identifier", Kind::TypeName),
    ("qualified_type", Kind::QualifiedType),
    ("pointer_type", Kind::Pointer),
    ("parenthesized_type", Kind::Pointer),
    ("generic_type", Kind::Generic),
    ("struct_type", Kind::Struct),
    ("interface_type", Kind::Interface),
];

pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    pub(super) kinds: Kinds<Kind>,
    pub(super) name: u16,
    pub(super) path: u16,
    pub(super) type_: u16,
    pub(super) body: u16,
    pub(super) receiver: u16,
    pub(super) parameters: u16,
    pub(super) result: u16,
    pub(super) left: u16,
    pub(super) right: u16,
    pub(super) value: u16,
    pub(super) alias: u16,
    pub(super) function: u16,
    pub(super) arguments: u16,
    pub(super) operand: u16,
    pub(super) field: u16,
}

pub(super) static GO: LazyLock<Grammar> = LazyLock::new(|| {
    let language: tree_sitter::Language = tree_sitter_go::LANGUAGE.into();
    let id = |name| language.field_id_for_name(name).map_or(0, NonZeroU16::get);
    Grammar {
        kinds: Kinds::new(&language, KINDS),
        name: id("name"),
        path: id("path"),
        type_: id("type"),
        body: id("body"),
        receiver: id("receiver"),
        parameters: id("parameters"),
        result: id("result"),
        left: id("left"),
        right: id("right"),
        value: id("value"),
        alias: id("alias"),
        function: id("function"),
        arguments: id("arguments"),
        operand: id("operand"),
        field: id("field"),
        language: language.clone(),
    }
});

impl Grammar {
    /// Returns the child that a field names.
    pub(super) fn field<'n>(&self, node: Node<'n>, field: u16) -> Option<Node<'n>> {
        node.child_by_field_id(field)
    }

    pub(super) fn is(&self, node: Node<'_>, kind: Kind) -> bool {
        self.kinds.of(node) == Some(kind)
    }

    /// Returns the names that a parameter or a spec gives: its plain identifiers, because
    /// types and values are other nodes.
    pub(super) fn names<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let mut cursor = node.walk();
        let children = node.named_children(&mut cursor);
        children.filter(|child| self.is(*child, Kind::Identifier)).collect()
    }
}
