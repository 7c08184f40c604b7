//! Words that work is told with in other languages, and the English ones they stand for: lines are
//! often in one language and people speak in another.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::reading::scripts::is_unspaced;

/// Words of work in other languages, by their beginnings, with the beginning of the English one as
/// words are compared by it.
const GLOSSES: &[(&str, &[&str])] = &[
    ("test", &["テスト", "测试", "測試", "тест", "테스트", "اختبار", "टेस्ट", "prueba", "essai"]),
    ("commit", &["コミット", "提交", "коммит", "커밋", "कमिट"]),
    (
        "databa",
        &[
            "datenbank",
            "базу",
            "базе",
            "база",
            "データベース",
            "数据库",
            "데이터베이스",
            "قاعدة",
            "डेटाबेस",
            "banco",
        ],
    ),
    ("db", &["datenbank", "базу", "базе", "データベース", "数据库", "데이터베이스"]),
    ("depend", &["abhängigkeit", "зависимост", "依存", "依赖", "의존성", "dependencia"]),
    ("ticket", &["チケット", "工单", "тикет", "티켓"]),
    (
        "review",
        &[
            "レビュー",
            "评审",
            "审查",
            "ревью",
            "리뷰",
            "überprüf",
            "relecture",
            "revisión",
            "revision",
        ],
    ),
    ("branch", &["ブランチ", "分支", "ветк", "브랜치", "zweig", "rama", "branche"]),
    ("migrat", &["マイグレーション", "迁移", "миграц", "마이그레이션", "migrier"]),
    ("key", &["キー", "ключ", "schlüssel", "clé", "clave", "llave", "chave", "키를"]),
    ("log", &["ログ", "日志", "лог", "로그", "journalis", "journaux", "registro"]),
    ("passwo", &["パスワード", "密码", "парол", "passwort", "contraseña", "비밀번호", "senha"]),
    (
        "delet",
        &["削除", "删除", "удал", "삭제", "gelösch", "lösch", "supprim", "borr", "elimin", "apag"],
    ),
    ("person", &["個人", "个人", "персональн", "개인", "personen"]),
    ("data", &["データ", "数据", "данн", "데이터", "daten", "données", "datos", "dados"]),
    ("format", &["フォーマット", "格式", "формат", "포맷"]),
    ("refact", &["リファクタ", "重构", "рефактор", "리팩터"]),
    ("commen", &["コメント", "注释", "комментар", "주석", "kommentar"]),
    ("error", &["エラー", "错误", "ошибк", "오류", "fehler", "erreur"]),
    ("deploy", &["デプロイ", "部署", "деплой", "배포", "desplieg", "despleg", "déploi"]),
    ("releas", &["リリース", "发布", "релиз", "릴리스", "veröffentlich"]),
    ("file", &["ファイル", "文件", "файл", "파일", "datei", "fichier", "archivo", "arquivo"]),
    ("fil", &["ファイル", "文件", "файл", "파일", "datei", "fichier", "archivo", "arquivo"]),
    ("tabl", &["テーブル", "таблиц", "테이블", "tabelle", "tabla", "tabela"]),
    ("column", &["カラム", "колонк", "столб", "컬럼", "spalte", "colonne", "columna"]),
    ("genera", &["生成", "генерир", "сгенерир", "생성", "generier"]),
    (
        "hand",
        &["手で", "手動", "手作業", "手动", "手工", "手改", "вручную", "руками", "수동", "mano"],
    ),
    ("compon", &["コンポーネント", "组件", "компонент", "컴포넌트", "komponent"]),
    ("string", &["文字列", "字符串", "строк", "문자열", "zeichenkette", "chaîne", "cadena"]),
    ("hardco", &["直書き", "ハードコード", "写死", "硬编码", "захардкож", "하드코딩"]),
    ("transl", &["翻訳", "翻译", "перевод", "번역", "übersetz", "tradu"]),
    (
        "ask",
        &[
            "相談",
            "聞か",
            "先问",
            "спрос",
            "묻지",
            "물어",
            "frag",
            "gefrag",
            "demand",
            "pregunt",
            "pergunt",
            "consult",
        ],
    ),
    ("price", &["価格", "价格", "цен", "가격", "preis", "prix", "precio", "preço"]),
    ("pric", &["価格", "价格", "цен", "가격", "preis", "prix", "precio", "preço"]),
    (
        "money",
        &[
            "お金",
            "金额",
            "金額",
            "деньг",
            "금액",
            "geld",
            "betrag",
            "argent",
            "montant",
            "dinero",
            "importe",
        ],
    ),
    ("float", &["浮動小数", "浮点", "плавающ", "부동소수", "gleitkomma", "flottant", "flotante"]),
    ("cent", &["セント", "分为单位", "цент", "копе", "센트", "centime", "céntimo"]),
    ("name", &["名前", "名称", "имя", "имен", "фамили", "이름", "nom"]),
    ("nam", &["名前", "名称", "имя", "имен", "фамили", "이름", "nachname"]),
    ("passpo", &["パスポート", "护照", "паспорт", "여권", "reisepass", "passeport", "pasaporte"]),
    (
        "passen",
        &[
            "乗客",
            "乘客",
            "旅客",
            "пассажир",
            "승객",
            "passagier",
            "fahrgast",
            "passager",
            "passagère",
            "pasajer",
            "passageir",
        ],
    ),
    ("email", &["メール", "邮箱", "邮件", "почт", "이메일", "e-mail", "correo", "courriel"]),
    (
        "retent",
        &["保存期間", "保留", "хранени", "보존", "aufbewahrung", "conservation", "retención"],
    ),
    ("proced", &["手順", "流程", "процедур", "절차", "verfahren", "procédure", "procedimiento"]),
    (
        "messag",
        &["メッセージ", "消息", "信息", "сообщени", "메시지", "nachricht", "mensaje", "mensagem"],
    ),
    ("number", &["番号", "编号", "号码", "номер", "번호", "nummer", "numéro", "número"]),
    ("text", &["テキスト", "文本", "文案", "текст", "텍스트", "texte", "texto"]),
    ("timest", &["タイムスタンプ", "时间戳", "타임스탬프", "zeitstempel", "horodat"]),
    ("time", &["時刻", "时间", "врем", "시간", "zeit", "heure", "hora"]),
    ("tim", &["時刻", "时间", "врем", "시간", "zeit", "heure", "hora"]),
    ("local", &["ローカル", "現地", "本地", "местн", "локальн", "현지", "lokal", "ortszeit"]),
    ("flaky", &["不安定", "フレーキー", "不稳定", "нестабильн", "флак", "불안정", "wacklig"]),
    (
        "retry",
        &[
            "リトライ",
            "再試行",
            "重试",
            "повтор",
            "ретра",
            "재시도",
            "wiederhol",
            "reintent",
            "tentativa",
        ],
    ),
    ("caus", &["原因", "причин", "원인", "ursache", "causa"]),
    ("sleep", &["スリープ", "休眠"]),
    ("push", &["プッシュ", "推送", "пуш", "запуш", "푸시", "gepusht"]),
    ("direct", &["直接", "напрямую", "직접", "direkt"]),
    ("small", &["小さ", "маленьк", "작은", "klein", "petit", "pequeñ"]),
    ("schema", &["スキーマ", "схем", "스키마", "schéma", "esquema"]),
    ("cach", &["キャッシュ", "缓存", "кэш", "캐시", "zwischenspeicher"]),
    ("config", &["設定", "配置", "настройк", "конфиг", "설정", "einstellung", "réglage", "ajuste"]),
    ("flag", &["フラグ", "开关", "флаг", "플래그", "schalter", "drapeau", "bandera"]),
    ("secret", &["秘密", "密钥", "секрет", "시크릿", "geheim", "secreto"]),
    ("script", &["スクリプト", "脚本", "скрипт", "스크립트", "skript"]),
    ("docume", &["ドキュメント", "文書", "文档", "документ", "문서", "dokument"]),
    ("button", &["ボタン", "按钮", "кнопк", "버튼", "schaltfläche", "bouton", "botón"]),
    ("import", &["インポート", "导入", "импорт", "임포트"]),
    ("variab", &["変数", "变量", "переменн", "변수"]),
    ("functi", &["関数", "函数", "функци", "함수", "funktion", "fonction", "función"]),
    (
        "librar",
        &[
            "ライブラリ",
            "库",
            "библиотек",
            "라이브러리",
            "bibliothek",
            "bibliothèque",
            "biblioteca",
            "librería",
        ],
    ),
    ("versio", &["バージョン", "版本", "верси", "버전"]),
    ("featur", &["機能", "功能", "фич", "기능", "funktionalität", "fonctionnalité"]),
    (
        "user",
        &[
            "ユーザー",
            "用户",
            "пользовател",
            "사용자",
            "benutzer",
            "nutzer",
            "utilisateur",
            "usuari",
        ],
    ),
    (
        "endpoi",
        &["エンドポイント", "接口", "路由", "эндпоинт", "엔드포인트", "маршрут", "endpunkt"],
    ),
    ("repo", &["リポジトリ", "仓库", "репозитор", "저장소", "dépôt", "repositor"]),
    ("pr", &["プルリク", "拉取请求", "合并请求", "пулреквест", "풀리퀘"]),
    ("produc", &["本番", "生产环境", "생산", "продакшен", "produktion"]),
    ("cod", &["コード", "代码", "код", "코드", "código"]),
    ("chang", &["変更", "修改", "改动", "изменени", "변경", "änderung", "changement"]),
    ("sign", &["署名", "签名", "подпис", "서명", "signier"]),
    ("custom", &["顧客", "客户", "клиент", "고객", "kunde", "client", "cliente"]),
];

/// The foreign words, folded, each with the English one.
static FOLDED: LazyLock<Vec<(String, &str)>> = LazyLock::new(|| {
    let row = |(english, foreign): &(&'static str, &'static [&'static str])| {
        foreign.iter().map(|word| (fold(word), *english)).collect::<Vec<_>>()
    };
    GLOSSES.iter().flat_map(row).collect()
});

/// The English words that a word of another language stands for.
pub(crate) fn glosses(folded: &str) -> BTreeSet<&'static str> {
    let stands = |(foreign, _): &&(String, &'static str)| folded.starts_with(foreign.as_str());
    FOLDED.iter().filter(stands).map(|(_, english)| *english).collect()
}

/// The same for the words in a text that sets none apart.
pub(crate) fn unspaced_glosses(text: &str) -> impl Iterator<Item = &'static str> {
    let is_there = |word: &str| word.chars().any(is_unspaced) && text.contains(word);
    let is_unspaced = text.chars().any(is_unspaced);
    let rows = GLOSSES
        .iter()
        .filter(move |(_, foreign)| is_unspaced && foreign.iter().any(|word| is_there(word)));
    rows.map(|(english, _)| *english)
}

/// The letters of a word in lower case, without marks over them.
pub(crate) fn fold(word: &str) -> String {
    word.chars()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            'à' | 'á' | 'â' | 'ã' | 'å' | 'ā' | 'ą' => 'a',
            'ä' => 'a',
            'ç' | 'ć' | 'č' => 'c',
            'è' | 'é' | 'ê' | 'ë' | 'ę' | 'ě' => 'e',
            'ì' | 'í' | 'î' | 'ï' | 'ı' => 'i',
            'ñ' | 'ń' => 'n',
            'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' => 'o',
            'ù' | 'ú' | 'û' | 'ü' | 'ů' => 'u',
            'š' | 'ś' | 'ş' => 's',
            'ž' | 'ź' | 'ż' => 'z',
            'ł' => 'l',
            'ğ' => 'g',
            'ё' => 'е',
            other => other,
        })
        .collect()
}
