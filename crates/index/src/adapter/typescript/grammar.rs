//! The nodes and fields that the adapter has rules for, by the numbers of each of the three
//! grammars. JavaScript's names differ from TypeScript's in a few places; both are listed.

use std::num::NonZeroU16;
use std::sync::LazyLock;

use tree_sitter::Node;

use crate::reader::Kinds;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TypeScriptKind {
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

const KINDS: &[(&str, TypeScriptKind)] = &[
    ("string", TypeScriptKind::Leaf),
    ("regex", TypeScriptKind::Leaf),
    ("jsx_text", TypeScriptKind::Leaf),
    ("template_string", TypeScriptKind::Literal),
    ("array", TypeScriptKind::Literal),
    ("number", TypeScriptKind::Literal),
    ("comment", TypeScriptKind::Comment),
    ("import_statement", TypeScriptKind::Import),
    ("export_statement", TypeScriptKind::Export),
    ("ambient_declaration", TypeScriptKind::Ambient),
    ("function_declaration", TypeScriptKind::Function),
    ("generator_function_declaration", TypeScriptKind::Function),
    ("function_signature", TypeScriptKind::FunctionSignature),
    ("arrow_function", TypeScriptKind::FunctionValue),
    ("function_expression", TypeScriptKind::FunctionValue),
    ("generator_function", TypeScriptKind::FunctionValue),
    ("function_type", TypeScriptKind::FunctionType),
    ("call_signature", TypeScriptKind::FunctionType),
    ("construct_signature", TypeScriptKind::FunctionType),
    ("constructor_type", TypeScriptKind::FunctionType),
    ("class_declaration", TypeScriptKind::Class),
    ("abstract_class_declaration", TypeScriptKind::Class),
    ("class", TypeScriptKind::ClassValue),
    ("method_definition", TypeScriptKind::Method),
    ("method_signature", TypeScriptKind::MethodSignature),
    ("abstract_method_signature", TypeScriptKind::MethodSignature),
    ("property_signature", TypeScriptKind::PropertySignature),
    ("public_field_definition", TypeScriptKind::Field),
    ("field_definition", TypeScriptKind::Field),
    ("interface_declaration", TypeScriptKind::Interface),
    ("type_alias_declaration", TypeScriptKind::TypeAlias),
    ("enum_declaration", TypeScriptKind::Enum),
    ("internal_module", TypeScriptKind::Module),
    ("module", TypeScriptKind::Module),
    ("lexical_declaration", TypeScriptKind::Declaration),
    ("variable_declaration", TypeScriptKind::Declaration),
    ("variable_declarator", TypeScriptKind::Declarator),
    ("assignment_expression", TypeScriptKind::Assignment),
    ("object", TypeScriptKind::Object),
    ("pair", TypeScriptKind::Pair),
    ("formal_parameters", TypeScriptKind::Parameters),
    ("statement_block", TypeScriptKind::Scope),
    ("for_statement", TypeScriptKind::Scope),
    ("switch_body", TypeScriptKind::Scope),
    ("class_static_block", TypeScriptKind::Scope),
    ("for_in_statement", TypeScriptKind::ForIn),
    ("catch_clause", TypeScriptKind::Catch),
    ("call_expression", TypeScriptKind::Call),
    ("new_expression", TypeScriptKind::New),
    ("import", TypeScriptKind::DynamicImport),
    ("jsx_opening_element", TypeScriptKind::Jsx),
    ("jsx_self_closing_element", TypeScriptKind::Jsx),
    ("decorator", TypeScriptKind::Decorator),
    ("extends_clause", TypeScriptKind::Extends),
    ("implements_clause", TypeScriptKind::Implements),
    ("extends_type_clause", TypeScriptKind::InterfaceExtends),
    ("class_heritage", TypeScriptKind::Heritage),
    ("identifier", TypeScriptKind::Identifier),
    ("shorthand_property_identifier", TypeScriptKind::ShorthandName),
    ("shorthand_property_identifier_pattern", TypeScriptKind::ShorthandPattern),
    ("object_pattern", TypeScriptKind::ObjectPattern),
    ("array_pattern", TypeScriptKind::ArrayPattern),
    ("assignment_pattern", TypeScriptKind::AssignmentPattern),
    ("object_assignment_pattern", TypeScriptKind::AssignmentPattern),
    ("pair_pattern", TypeScriptKind::PairPattern),
    ("rest_pattern", TypeScriptKind::RestPattern),
    ("member_expression", TypeScriptKind::Member),
    ("this", TypeScriptKind::This),
    ("super", TypeScriptKind::Super),
    ("parenthesized_expression", TypeScriptKind::Parenthesized),
    ("non_null_expression", TypeScriptKind::Parenthesized),
    ("await_expression", TypeScriptKind::Await),
    ("as_expression", TypeScriptKind::Cast),
    ("satisfies_expression", TypeScriptKind::Cast),
    ("type_identifier", TypeScriptKind::TypeName),
    ("nested_type_identifier", TypeScriptKind::NestedType),
    ("generic_type", TypeScriptKind::GenericType),
    ("union_type", TypeScriptKind::UnionType),
    ("parenthesized_type", TypeScriptKind::ParenthesizedType),
    ("readonly_type", TypeScriptKind::ParenthesizedType),
    ("type_annotation", TypeScriptKind::Annotation),
    ("type_parameter", TypeScriptKind::TypeParameter),
    ("infer_type", TypeScriptKind::InferType),
    ("mapped_type_clause", TypeScriptKind::MappedType),
    ("accessibility_modifier", TypeScriptKind::Accessibility),
];

pub(super) struct TypeScriptGrammar {
    pub(super) language: tree_sitter::Language,
    pub(super) kinds: Kinds<TypeScriptKind>,
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

pub(super) static TYPESCRIPT: LazyLock<TypeScriptGrammar> =
    LazyLock::new(|| TypeScriptGrammar::new(tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into()));
pub(super) static TSX: LazyLock<TypeScriptGrammar> =
    LazyLock::new(|| TypeScriptGrammar::new(tree_sitter_typescript::LANGUAGE_TSX.into()));
pub(super) static JAVASCRIPT: LazyLock<TypeScriptGrammar> =
    LazyLock::new(|| TypeScriptGrammar::new(tree_sitter_javascript::LANGUAGE.into()));

impl TypeScriptGrammar {
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

    pub(super) fn is(&self, node: Node<'_>, kind: TypeScriptKind) -> bool {
        self.kinds.of(node) == Some(kind)
    }

    pub(super) fn child_of<'n>(&self, node: Node<'n>, kind: TypeScriptKind) -> Option<Node<'n>> {
        let mut cursor = node.walk();
        node.named_children(&mut cursor).find(|child| self.is(*child, kind))
    }
}

/// Returns all named children.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
