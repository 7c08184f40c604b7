//! The grammar's nodes and fields that the adapter has rules for, by number.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::Kinds;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum GoKind {
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

const KINDS: &[(&str, GoKind)] = &[
    ("interpreted_string_literal", GoKind::Leaf),
    ("raw_string_literal", GoKind::Leaf),
    ("comment", GoKind::Comment),
    ("source_file", GoKind::SourceFile),
    ("package_clause", GoKind::PackageClause),
    ("import_spec", GoKind::ImportSpec),
    ("function_declaration", GoKind::Function),
    ("method_declaration", GoKind::Method),
    ("const_declaration", GoKind::ConstDeclaration),
    ("var_declaration", GoKind::VarDeclaration),
    ("type_declaration", GoKind::TypeDeclaration),
    ("type_spec", GoKind::TypeSpec),
    ("type_alias", GoKind::TypeSpec),
    ("const_spec", GoKind::ValueSpec),
    ("var_spec", GoKind::ValueSpec),
    ("method_elem", GoKind::InterfaceMethod),
    ("field_declaration", GoKind::Field),
    ("type_elem", GoKind::TypeElement),
    ("type_parameter_declaration", GoKind::TypeParameter),
    ("func_literal", GoKind::FunctionLiteral),
    ("function_type", GoKind::FunctionType),
    ("block", GoKind::Scope),
    ("if_statement", GoKind::Scope),
    ("for_statement", GoKind::Scope),
    ("expression_switch_statement", GoKind::Scope),
    ("expression_case", GoKind::Scope),
    ("default_case", GoKind::Scope),
    ("communication_case", GoKind::Scope),
    ("type_switch_statement", GoKind::TypeSwitch),
    ("type_case", GoKind::TypeCase),
    ("short_var_declaration", GoKind::ShortVar),
    ("range_clause", GoKind::Range),
    ("receive_statement", GoKind::Receive),
    ("call_expression", GoKind::Call),
    ("identifier", GoKind::Identifier),
    ("selector_expression", GoKind::Selector),
    ("composite_literal", GoKind::Composite),
    ("unary_expression", GoKind::Unary),
    ("parenthesized_expression", GoKind::Parenthesized),
    ("type_assertion_expression", GoKind::Assertion),
    ("index_expression", GoKind::Index),
    ("type_instantiation_expression", GoKind::Index),
    ("type_identifier", GoKind::TypeName),
    ("qualified_type", GoKind::QualifiedType),
    ("pointer_type", GoKind::Pointer),
    ("parenthesized_type", GoKind::Pointer),
    ("generic_type", GoKind::Generic),
    ("struct_type", GoKind::Struct),
    ("interface_type", GoKind::Interface),
];

pub(super) struct GoGrammar {
    pub(super) language: tree_sitter::Language,
    pub(super) kinds: Kinds<GoKind>,
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

pub(super) static GO: LazyLock<GoGrammar> = LazyLock::new(|| {
    let language: tree_sitter::Language = tree_sitter_go::LANGUAGE.into();
    let id = |name| language.field_id_for_name(name).map_or(0, NonZeroU16::get);
    GoGrammar {
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

impl GoGrammar {
    /// Returns the child that a field names.
    pub(super) fn field<'n>(&self, node: Node<'n>, field: u16) -> Option<Node<'n>> {
        node.child_by_field_id(field)
    }

    pub(super) fn is(&self, node: Node<'_>, kind: GoKind) -> bool {
        self.kinds.of(node) == Some(kind)
    }

    /// Returns the names that a parameter or a spec gives: its plain identifiers, because
    /// types and values are other nodes.
    pub(super) fn names<'n>(&self, node: Node<'n>) -> Vec<Node<'n>> {
        let mut cursor = node.walk();
        let children = node.named_children(&mut cursor);
        children.filter(|child| self.is(*child, GoKind::Identifier)).collect()
    }
}
