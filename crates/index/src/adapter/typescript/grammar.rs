//! The nodes and fields that the adapter has rules for, by the numbers of each of the three
//! grammars. JavaScript's names differ from TypeScript's in a few places; both are listed.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::Kinds;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A text in quotes or a regular expression: nothing below it matters.
    Leaf,
    /// Another value written out, whose methods are the language's own.
    Literal,
    Comment,
    Import,
    Export,
    Ambient,
    Function,
    FunctionSignature,
    FunctionValue,
    FunctionType,
    Class,
    ClassValue,
    Method,
    MethodSignature,
    PropertySignature,
    Field,
    Interface,
    TypeAlias,
    Enum,
    Module,
    Declaration,
    Declarator,
    Assignment,
    Object,
    Pair,
    Parameters,
    /// A statement that variables are gone after.
    Scope,
    ForIn,
    Catch,
    Call,
    New,
    DynamicImport,
    Jsx,
    Decorator,
    Extends,
    Implements,
    InterfaceExtends,
    Heritage,
    Identifier,
    ShorthandName,
    ShorthandPattern,
    ObjectPattern,
    ArrayPattern,
    AssignmentPattern,
    PairPattern,
    RestPattern,
    Member,
    This,
    Super,
    Parenthesized,
    Await,
    Cast,
    TypeName,
    NestedType,
    GenericType,
    UnionType,
    ParenthesizedType,
    Annotation,
    TypeParameter,
    InferType,
    MappedType,
    Accessibility,
}

const KINDS: &[(&str, Kind)] = &[
    ("string", Kind::Leaf),
    ("regex", Kind::Leaf),
    ("jsx_text", Kind::Leaf),
    ("template_string", Kind::Literal),
    ("array", Kind::Literal),
    ("number", Kind::Literal),
    ("comment", Kind::Comment),
    ("import_statement", Kind::Import),
    ("export_statement", Kind::Export),
    ("ambient_declaration", Kind::Ambient),
    ("function_declaration", Kind::Function),
    ("generator_function_declaration", Kind::Function),
    ("function_signature", Kind::FunctionSignature),
    ("arrow_function", Kind::FunctionValue),
    ("function_expression", Kind::FunctionValue),
    ("generator_function", Kind::FunctionValue),
    ("function_type", Kind::FunctionType),
    ("call_signature", Kind::FunctionType),
    ("construct_signature", Kind::FunctionType),
    ("constructor_type", Kind::FunctionType),
    ("class_declaration", Kind::Class),
    ("abstract_class_declaration", Kind::Class),
    ("class", Kind::ClassValue),
    ("method_definition", Kind::Method),
    ("method_signature", Kind::MethodSignature),
    ("abstract_method_signature", Kind::MethodSignature),
    ("property_signature", Kind::PropertySignature),
    ("public_field_definition", Kind::Field),
    ("field_definition", Kind::Field),
    ("interface_declaration", Kind::Interface),
    ("type_alias_declaration", Kind::TypeAlias),
    ("enum_declaration", Kind::Enum),
    ("internal_module", Kind::Module),
    ("module", Kind::Module),
    ("lexical_declaration", Kind::Declaration),
    ("variable_declaration", Kind::Declaration),
    ("variable_declarator", Kind::Declarator),
    ("assignment_expression", Kind::Assignment),
    ("object", Kind::Object),
    ("pair", Kind::Pair),
    ("formal_parameters", Kind::Parameters),
    ("statement_block", Kind::Scope),
    ("for_statement", Kind::Scope),
    ("switch_body", Kind::Scope),
    ("class_static_block", Kind::Scope),
    ("for_in_statement", Kind::ForIn),
    ("catch_clause", Kind::Catch),
    ("call_expression", Kind::Call),
    ("new_expression", Kind::New),
    ("import", Kind::DynamicImport),
    ("jsx_opening_element", Kind::Jsx),
    ("jsx_self_closing_element", Kind::Jsx),
    ("decorator", Kind::Decorator),
    ("extends_clause", Kind::Extends),
    ("implements_clause", Kind::Implements),
    ("extends_type_clause", Kind::InterfaceExtends),
    ("class_heritage", Kind::Heritage),
    ("identifier", Kind::Identifier),
    ("shorthand_property_identifier", Kind::ShorthandName),
    ("shorthand_property_identifier_pattern", Kind::ShorthandPattern),
    ("object_pattern", Kind::ObjectPattern),
    ("array_pattern", Kind::ArrayPattern),
    ("assignment_pattern", Kind::AssignmentPattern),
    ("object_assignment_pattern", Kind::AssignmentPattern),
    ("pair_pattern", Kind::PairPattern),
    ("rest_pattern", Kind::RestPattern),
    ("member_expression", Kind::Member),
    ("this", Kind::This),
    ("super", Kind::Super),
    ("parenthesized_expression", Kind::Parenthesized),
    ("non_null_expression", Kind::Parenthesized),
    ("await_expression", Kind::Await),
    ("as_expression", Kind::Cast),
    ("satisfies_expression", Kind::Cast),
    ("type_identifier", Kind::TypeName),
    ("nested_type_identifier", Kind::NestedType),
    ("generic_type", Kind::GenericType),
    ("union_type", Kind::UnionType),
    ("parenthesized_type", Kind::ParenthesizedType),
    ("readonly_type", Kind::ParenthesizedType),
    ("type_annotation", Kind::Annotation),
    ("type_parameter", Kind::TypeParameter),
    ("infer_type", Kind::InferType),
    ("mapped_type_clause", Kind::MappedType),
    ("accessibility_modifier", Kind::Accessibility),
];

pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    pub(super) kinds: Kinds<Kind>,
    pub(super) name: u16,
    pub(super) body: u16,
    pub(super) value: u16,
    pub(super) type_: u16,
    pub(super) left: u16,
    pub(super) right: u16,
    pub(super) key: u16,
    pub(super) property: u16,
    pub(super) object: u16,
    pub(super) function: u16,
    pub(super) arguments: u16,
    pub(super) constructor: u16,
    pub(super) parameter: u16,
    pub(super) return_type: u16,
    pub(super) pattern: u16,
    pub(super) source: u16,
    pub(super) alias: u16,
    pub(super) declaration: u16,
}

pub(super) static TYPESCRIPT: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::new(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()));
pub(super) static TSX: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::new(tree_sitter_typescript::LANGUAGE_TSX.into()));
pub(super) static JAVASCRIPT: LazyLock<Grammar> =
    LazyLock::new(|| Grammar::new(tree_sitter_javascript::LANGUAGE.into()));

impl Grammar {
    fn new(language: tree_sitter::Language) -> Self {
        let id = |name| language.field_id_for_name(name).map_or(0, NonZeroU16::get);
        Self {
            kinds: Kinds::new(&language, KINDS),
            name: id("name"),
            body: id("body"),
            value: id("value"),
            type_: id("type"),
            left: id("left"),
            right: id("right"),
            key: id("key"),
            property: id("property"),
            object: id("object"),
            function: id("function"),
            arguments: id("arguments"),
            constructor: id("constructor"),
            parameter: id("parameter"),
            return_type: id("return_type"),
            pattern: id("pattern"),
            source: id("source"),
            alias: id("alias"),
            declaration: id("declaration"),
            language: language.clone(),
        }
    }

    /// Returns the child that a field names. A field that the grammar does not have is 0.
    pub(super) fn field<'n>(&self, node: Node<'n>, field: u16) -> Option<Node<'n>> {
        if field == 0 { None } else { node.child_by_field_id(field) }
    }

    pub(super) fn is(&self, node: Node<'_>, kind: Kind) -> bool {
        self.kinds.of(node) == Some(kind)
    }

    pub(super) fn child_of<'n>(&self, node: Node<'n>, kind: Kind) -> Option<Node<'n>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).find(|child| self.is(*child, kind))
    }
}

/// Returns all named children.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
