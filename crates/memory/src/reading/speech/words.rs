//! The words that the rules of speech go by. They are data: another language is some words more.
#![cfg_attr(rustfmt, rustfmt_skip)]

/// Words that only open a sentence: what follows them is its beginning.
pub(super) const OPENERS: &[&str] = &[
    "hey", "hi", "hello", "ok", "okay", "so", "well", "hm", "hmm", "um", "uh", "oh", "ah",
    "sorry", "please", "pls", "plz", "and", "but", "also", "actually", "look", "listen", "hallo",
    "äh", "außerdem", "und", "aber", "bitte", "oye", "además", "y", "pero", "et", "mais",
    "пожалуйста", "и", "а", "но", "ещё", "spore", "agent", "bot", "heads-up",
];

/// Words by which a question asks for something to be done.
pub(super) const REQUESTS: &[&str] = &[
    "can you", "could you", "would you", "will you", "can we", "could we", "please", "shall we",
    "kannst du", "könntest du", "können sie", "magst du", "bitte", "peux-tu", "tu peux",
    "pouvez-vous", "puedes", "podrías", "você pode", "можешь", "можете", "してもらえ", "してくれ", "能不能",
];

/// The speaker is at fault, or no one is: no correction, whatever else is said.
pub(super) const FORGIVEN: &[&str] = &[
    "i was wrong", "my mistake", "my fault", "no need to", "you were right", "never mind",
    "did it right", "mein fehler", "c'est ma faute", "mi error", "моя ошибка", "私のミス",
    "minha culpa", "errore mio", "我的错", "제 실수", "خطئي", "मेरी गलती", "nothing to fix",
    "nothing to correct", "no action", "not your fault", "no worries", "hat sich erledigt",
    "rien à corriger", "没关系", "問題ありません", "大丈夫です",
];

/// Who praises or thanks does not complain.
pub(super) const PRAISE: &[&str] = &[
    "thank", "thx", "appreciate", "nice", "great", "perfect", "well done", "good job",
    "good call", "love it", "exactly", "right this time", "danke", "prima", "super",
    "gut gemacht", "gracias", "genial", "perfecto", "merci", "bravo", "parfait", "спасибо",
    "отлично", "ありがとう", "谢谢",
];

/// How a sentence begins that tells the one who is spoken to what they did, and how the word
/// behind it ends. People who tell an agent its own deeds complain, unless they praise or ask.
pub(super) const DEEDS: &[(&str, &[&str])] = &[
    ("you ", ENGLISH_PAST), ("you just ", ENGLISH_PAST), ("you also ", ENGLISH_PAST),
    ("you've ", ENGLISH_PAST), ("you have ", ENGLISH_PAST), ("and you ", ENGLISH_PAST),
    ("but you ", ENGLISH_PAST), ("du hast ", &[""]), ("sie haben ", &[""]),
    ("tu as ", &["é", "is", "it", "u"]), ("vous avez ", &["é", "is", "it", "u"]),
    ("has ", &["ado", "ido", "cho", "sto"]), ("ты ", &["л", "ла", "лся", "лась", "ешь", "ишь"]),
    ("вы ", &["ли", "лись", "ете", "ите"]), ("你把", &[""]), ("你没", &[""]),
];

/// Endings of the past, and irregular forms of the verbs that work is told with.
pub(super) const ENGLISH_PAST: &[&str] = &[
    "ed", "ran", "wrote", "made", "took", "left", "did", "broke", "went", "got", "kept", "put",
    "sent", "chose", "threw", "built", "added", "hid", "forgot", "set", "didn't", "never",
    "hardcoded", "rewrote", "undid", "cut", "let", "still",
];

/// Deeds that draw no complaint from people, and being right, which begins like one.
pub(super) const GOOD_DEEDS: &[&str] = &[
    "fixed", "solved", "caught", "remembered", "found", "saved", "helped", "noticed", "finished",
    "improved", "explained", "answered", "recht", "raison", "réussi", "trouvé", "arreglado",
    "encontrado", "нашёл", "исправил",
];

/// What ends like a deed and is none, and what people only refer to.
pub(super) const NO_DEEDS: &[&str] = &[
    "need", "indeed", "asked", "wanted", "mentioned", "requested", "suggested", "proposed",
    "agreed", "offered", "reported", "described", "promised", "zeit", "recht", "lust",
];

/// How words begin that name what work is done on. Without one of them "never" opens a saying.
pub(super) const ARTEFACTS: &[&str] = &[
    "…", "commit", "branch", "test", "file", "function", "module", "class", "table", "column",
    "migrat", "pull", "pr", "prs", "repo", "package", "librar", "depend", "config", "log", "logs",
    "lint", "format", "build", "release", "deploy", "endpoint", "route", "handler", "api",
    "schema", "comment", "doc", "docs", "docstring", "changelog", "version", "script", "secret",
    "password", "credential", "staging", "production", "prod", "main", "master", "code", "import",
    "variable", "constant", "flag", "quer", "database", "ticket", "issue", "review", "header",
    "string", "type", "path", "director", "folder", "rebase", "squash", "amend", "merge",
    "component", "method", "interface", "feature", "patch", "diff", "datei", "tabelle", "spalte",
    "zweig", "abhängig", "datenbank", "funktion", "variabl", "schlüssel", "файл", "тест", "код",
    "ветк", "таблиц", "колон", "данны", "баз", "зависим", "скрипт",
];

/// Words by which a sentence speaks of all of something, and by which it demands something of it.
pub(super) const ALL_OF: &[&str] = &[
    "every ", "each ", "all ", "any ", "no ", "jede ", "jeder ", "jedes ", "alle ", "kein ",
    "keine ", "tout ", "toute ", "toutes ", "aucun ", "aucune ", "pas de ", "todo ", "toda ",
    "todos ", "todas ", "ningún ", "ninguna ", "cada ", "nenhum ", "nenhuma ", "ogni ", "nessun ",
    "nessuna ", "каждый ", "каждая ", "каждое ", "все ", "никаких ",
];

pub(super) const DEMANDS: &[&str] = &[
    " must ", " should ", " needs to ", " need to ", " needs a", " need a", " has to ",
    " have to ", " gets a", " get a", " goes ", " go ", " without ", " muss ", " müssen ",
    " braucht ", " brauchen ", " bekommt ", " ohne ", " doit ", " doivent ", " passe par ",
    " sans ", " debe ", " deben ", " tiene que ", " tienen que ", " sin ", " deve ", " devem ",
    " precisa ", " sem ", " devono ", " senza ", " должен ", " должна ", " должно ", " должны ",
    " без ",
];

/// Who speaks of themselves, and who of them still asks something of others.
pub(super) const RESOLVES: &[&str] = &[
    "i", "i'll", "i'm", "ich", "je", "yo", "eu", "я",
];

pub(super) const WANTS: &[&str] = &[
    "want", "expect", "need", "like", "you", "your", "please", "möchte", "will", "erwarte", "du",
    "dir", "bitte", "veux", "voudrais", "tu", "te", "quiero", "espero", "quero", "você", "хочу",
    "прошу", "ты",
];

/// Words by which a person or an agent is spoken to.
pub(super) const ADDRESSES: &[&str] = &[
    "you", "your", "please", "du", "dir", "dich", "dein", "deine", "bitte", "tu", "te", "ton",
    "ta", "tes", "vous", "votre", "tú", "favor", "tus", "você", "seu", "sua", "ты", "тебе", "вы",
    "пожалуйста", "तुम", "आप", "कृपया", "يرجى", "فضلك",
];

/// What people have an agent do besides work on files, and how they ask in scripts without spaces.
pub(super) const DEALINGS: &[&str] = &[
    "push", "answer", "respond", "reply", "explain", "summar", "plan", "ask me", "tell me",
    "show me", "antwort", "erklär", "frag ", "zeig", "répond", "répon", "expliqu", "demande",
    "montre", "explica", "pregunt", "muestra", "pergunt", "ответ", "отвеч", "объясн", "спрос",
    "покаж", "ください", "て。", "请", "你", "您", "세요", "주세요", "해줘", "करो", "करें", "करना",
];
