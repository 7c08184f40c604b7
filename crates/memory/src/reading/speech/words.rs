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
    "thank", "thanks", "thank you", "thx", "appreciate", "appreciated", "nice", "nicely", "great",
    "perfect", "perfectly", "well done", "good job", "good call", "good work", "good catch",
    "good thinking", "kudos", "excellent", "awesome", "brilliant", "love it", "love that",
    "i love", "we love", "i like that", "right this time", "saved me", "saved us",
    "and you did", "which you did", "as you did", "you did well", "happy with", "glad",
    "danke", "prima", "super", "toll", "klasse", "gut gemacht", "gute arbeit", "gracias", "genial", "perfecto",
    "bien hecho", "merci", "bravo", "parfait", "bien joué", "obrigado", "obrigada", "perfeito",
    "grazie", "perfetto", "спасибо", "отлично", "молодец", "ありがとう", "素晴らしい", "谢谢", "很好",
    "고마워", "감사합니다", "شكرا", "धन्यवाद",
];

/// Words that ask outright for something to be taken back.
pub(super) const ASKS_BACK: &[&str] = &[
    "revert", "undo", "roll it back", "roll that back", "roll back", "put it back", "put that back",
    "put them back", "change it back", "change that back", "take it out", "take that out",
    "take them out", "back it out", "restore", "rückgängig", "nimm das zurück", "zurücknehmen",
    "annule", "retire", "remets", "deshaz", "revierte", "quítalo", "quita eso", "desfaz",
    "desfaça", "reverte", "reverta", "annulla", "ripristina", "откати", "отмени", "верни",
    "元に戻", "戻して", "取り消して", "撤销", "撤回", "改回", "还原", "回滚", "되돌려", "원래대로", "تراجع عن",
    "वापस कर",
];

/// Verbs with which people tell what others say or think.
pub(super) const REPORTS: &[&str] = &[
    "said", "says", "wrote", "writes", "thinks", "thought", "claims", "claimed", "believes",
    "complained", "complains", "commented", "suggests", "suggested", "insists", "told me",
    "asked me", "meint", "meinte", "sagt", "sagte", "schrieb", "schreibt", "findet", "dit que",
    "pense que", "a écrit", "dice", "dijo", "cree que", "escribió", "disse", "acha que", "сказал",
    "сказала", "говорит", "пишет", "считает",
];

/// Who speaks for themselves, and what people cite as their own word.
pub(super) const SPEAKERS: &[&str] = &[
    "i", "i've", "we", "we've", "already", "clearly", "explicitly", "specifically", "just", "have", "rule", "rules", "doc", "docs",
    "readme", "ticket", "issue", "spec", "guide", "policy", "convention", "line", "it", "that",
    "which", "template", "checklist", "md", "ich", "wir", "regel", "da", "je", "on", "yo", "eu",
    "я", "мы", "you", "still", "file", "task", "contributing",
];

/// Words of doubt, and of wanting something left out.
pub(super) const DOUBTS: &[&str] = &[
    "not sure", "unsure", "i doubt", "doubtful", "not convinced", "really need", "really needed",
    "really necessary", "is it necessary", "needed at all", "unnecessary", "pointless", "useless",
    "waste of time", "stupid", "silly", "annoying", "overkill", "for nothing", "no use", "skip",
    "skipping", "leave out", "don't bother", "do not bother", "don't run", "do not run",
    "don't use", "do not use", "without running", "no need", "not needed", "not worth", "makes no sense", "why do we",
    "nicht sicher", "wirklich nötig", "wirklich sein", "brauchen wir das", "unnötig", "sinnlos",
    "überflüssig", "lass das weg", "vraiment nécessaire", "pas sûr", "inutile", "pas besoin",
    "no estoy seguro", "hace falta", "inútil", "innecesario", "sem necessidade", "не уверен",
    "зачем нам", "бессмысленно", "不要です", "必要ですか", "没必要", "有必要吗", "필요 없",
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
    "…", "crate", "parser", "target", "server", "client", "commit", "branch", "test", "file", "function", "module", "class", "table", "column",
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

/// Who speaks of themselves, and who of them still asks something of others.
pub(super) const RESOLVES: &[&str] = &[
    "i", "i'll", "i'm", "ich", "je", "yo", "eu", "я",
];

pub(super) const WANTS: &[&str] = &[
    "want", "expect", "need", "like", "you", "your", "please", "möchte", "will", "erwarte", "du",
    "dir", "bitte", "veux", "voudrais", "tu", "te", "quiero", "espero", "quero", "você", "хочу",
    "прошу", "ты",
];

/// What people have an agent do besides work on files, and how they ask in scripts without spaces.
pub(super) const DEALINGS: &[&str] = &[
    "push", "answer", "respond", "reply", "explain", "summar", "plan", "ask me", "tell me",
    "show me", "antwort", "erklär", "frag ", "zeig", "répond", "répon", "expliqu", "demande",
    "montre", "explica", "pregunt", "muestra", "pergunt", "ответ", "отвеч", "объясн", "спрос",
    "покаж", "ください", "て。", "请", "你", "您", "세요", "주세요", "해줘", "करो", "करें", "करना",
];

/// Words for always and never that open a command.
pub(super) const ALWAYS: &[&str] = &[
    "always ", "never ", "immer ", "niemals ", "nie ", "siempre ", "nunca ", "toujours ",
    "sempre ", "всегда ", "никогда не ", "никогда ",
];

/// Phrases that hold whenever a person or an agent does what comes behind them.
pub(super) const ANYTIME: &[&str] = &[
    "whenever you", "every time you", "each time you", "any time you", "anytime you",
];

/// Words that bind what is said to one piece of work, or to when it suits.
pub(super) const BOUND: &[&str] = &[
    "this one", "that one", "this time", "that time", "this pr", "that pr", "this branch",
    "this commit", "this change", "this task", "this ticket", "this release", "this week",
    "for now", "right now", "for the moment", "as of now", "until then", "you have time",
    "you get a chance", "you get to it", "you find time", "if you like", "if you want", "maybe",
    "perhaps", "i guess", "i think", "i wonder", "nur diesmal", "diesmal", "dieser pr",
    "diesem pr", "diesen pr", "diesem branch", "vorerst", "wenn du zeit", "vielleicht",
    "cette fois", "cette pr", "pour l'instant", "peut-être", "esta vez", "este pr",
    "por ahora", "quizás", "desta vez", "talvez", "на этот раз", "пока", "может быть",
    "今回は", "とりあえず", "这次", "暂时", "이번", "일단",
];

/// Who says one of these means nothing of what the message says.
pub(super) const TAKEN_BACK: &[&str] = &[
    "never mind", "nevermind", "nvm", "forget it", "forget that", "forget what i", "just kidding",
    "kidding", "joking", "scratch that", "ignore that", "ignore what i", "vergiss es",
    "schon gut", "laisse tomber", "olvídalo", "esquece", "забудь об этом", "неважно", "算了",
    "なんでもない", "아니야",
];

/// Words that stand before a command and say nothing themselves.
pub(super) const LEADS: &[&str] = &[
    "please", "pls", "plz", "you", "must", "should", "shall", "will", "have", "need", "to",
    "always", "never", "do", "not", "don't", "also", "just", "only", "first", "then", "and",
    "so", "be", "sure", "bitte", "immer", "nie", "niemals", "auch", "erst", "zuerst", "du", "toujours",
    "ne", "jamais", "siempre", "nunca", "no", "não", "sempre", "non", "por", "favor", "всегда",
    "никогда", "не", "сначала", "пожалуйста", "ты", "on", "out", "onwards", "forward", "ever", "again",
];

/// Verbs that state something. Soon behind a word that may be a verb or a noun they make it a noun.
pub(super) const STATES: &[&str] = &[
    "is", "are", "was", "were", "am", "i'm", "we're", "it's", "has", "had", "been", "can", "could", "may",
    "might", "should", "must", "needs", "will", "would", "fails", "failed", "passes", "passed",
    "runs", "takes", "took", "works", "goes", "gets", "got", "isn't", "aren't", "wasn't",
    "doesn't", "didn't", "won't", "we", "ist", "sind", "wird", "war",
];

/// Words that command or ask wherever they stand in a sentence with a standing phrase; those of
/// scripts without spaces are looked for as letters.
pub(super) const COMMANDING: &[&str] = &[
    "bitte", "musst du", "du musst", "sollst du", "du sollst", "schreibst du", "machst du",
    "fragst du", "prüfst du", "testest du", "nutzt du", "verwendest du", "benutzt du",
    "merci de", "s'il te plaît", "s'il vous plaît", "tu dois", "vous devez", "por favor",
    "debes", "tienes que", "você deve", "per favore", "devi", "пожалуйста", "ты должен",
    "вы должны", "alsjeblieft", "proszę", "lütfen", "vänligen", "ください", "下さい", "入れて。",
    "書いて。", "使って。", "こと。", "ないで", "请", "請", "都要", "必须", "必須", "不要", "别用",
    "一律用", "一律使用", "세요", "십시오", "해줘", "마라", "يرجى", "من فضلك", "करो", "करें", "करना",
    "लिखो", "लिखें", "चलाओ", "रखो", "कृपया",
];

/// Verbs of work as an English command has them.
pub(super) const ENGLISH_VERBS: &[&str] = &[
    "add", "adjust", "annotate", "answer", "append", "ask", "assign", "attach", "avoid", "await",
    "base", "benchmark", "build", "bump", "bundle", "cache", "call", "change", "check", "clean",
    "close", "comment", "commit", "compile", "consult", "convert", "copy", "create", "declare",
    "define", "delete", "deploy", "describe", "discuss", "document", "drop", "edit", "encode",
    "ensure", "escape", "exclude", "execute", "explain", "expose", "follow", "force",
    "force-push", "format", "generate", "group", "guard", "handle", "hardcode", "hard-code",
    "import", "include", "indent", "inform", "initialise", "initialize", "inject", "inline",
    "insert", "install", "introduce", "keep", "label", "leave", "limit", "link", "lint", "list",
    "lock", "log", "make", "mark", "measure", "mention", "merge", "migrate", "mock", "modify",
    "move", "name", "notify", "omit", "open", "order", "override", "overwrite", "parse", "pin",
    "pick", "place", "prefer", "prefix", "print", "propose", "provide", "publish", "pull",
    "push", "put", "quote", "raise", "read", "rebase", "record", "refer", "regenerate",
    "reject", "release", "remove", "rename", "replace", "reply", "report", "request", "require",
    "respond", "restart", "restore", "return", "reuse", "review", "rewrite", "run", "sanitise",
    "sanitize", "save", "send", "separate", "set", "ship", "show", "sign", "sort", "specify",
    "split", "squash", "stage", "start", "state", "stick", "stop", "store", "submit", "suggest",
    "summarise", "summarize", "tag", "tell", "test", "touch", "track", "translate", "trim",
    "type", "update", "upgrade", "upload", "use", "validate", "verify", "version", "wait",
    "warn", "wrap", "write",
];

pub(super) const GERMAN_VERBS: &[&str] = &[
    "schreib", "schreibe", "schreibst", "nimm", "nutze", "verwende", "benutze", "lass", "lasse",
    "frag", "frage", "mach", "mache", "führe", "teste", "prüfe", "committe", "pushe", "setze",
    "halte", "starte", "antworte", "erkläre", "zeig", "zeige", "lies", "achte", "ergänze",
];

/// Commands of French, Spanish, Portuguese and Italian.
pub(super) const FOREIGN_VERBS: &[&str] = &[
    "ajoute", "ajoutez", "demande", "demandez", "écris", "écrivez", "évite", "évitez", "explique",
    "fais", "faites", "garde", "gardez", "lance", "lancez", "mets", "mettez", "montre", "passe",
    "pose", "réponds", "répondez", "signe", "signez", "teste", "utilise", "utilisez", "vérifie",
    "vérifiez", "actualiza", "agrega", "añade", "comprueba", "ejecuta", "escribe", "evita", "explica", "firma",
    "haz", "muestra", "pon", "pregunta", "responde", "revisa", "usa", "usad", "uses", "utiliza",
    "adicione", "crie", "escreva", "execute", "explique", "faça", "mostre", "pergunte",
    "responda", "rode", "use", "utilize", "verifique", "aggiungi", "chiedi", "controlla",
    "esegui", "fai", "metti", "rispondi", "scrivi", "usare", "mostra",
];

/// Russian commands, or how they end.
pub(super) const RUSSIAN_COMMANDS: &[&str] = &[
    "ывай", "ивай", "вляй", "сляй", "веряй", "яйте", "айте", "уйте", "ируй", "зуй", "делай",
    "пиши", "пишите", "покажи", "спроси", "коммить", "ставь", "удаляй", "меняй", "пушь",
];
