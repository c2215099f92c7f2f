"""Makes a small tokenizer of XLM-RoBERTa's kind, and how Hugging Face's tokenizers cut with it.

    python3 -m venv ../../tmp/venv && ../../tmp/venv/bin/pip install sentencepiece==0.2.3 protobuf==7.36.2 tokenizers==0.23.3
    ../../tmp/venv/bin/python multilingual.py [TEXTS FOLDER]

SentencePiece trains it, with the published rules of normalization (nmt_nfkc), on words made of the
syllables below. It writes tokenizer.json.gz and cut.json.gz into testdata/multilingual. Each
text is cut three times: as XLM-RoBERTa's tokenizer.json was published, as it is converted today,
and with bytes for unknown characters. With a number of texts and a folder it writes those of as
many other texts there, plain: see TestManyTextsInManyScripts.
"""
import base64, gzip, json, os, random, sys, tempfile
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

TARGET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../internal/model/transformer/testdata/multilingual")

SYLLABLES = {
    "latin": "ba co di fu ge ha jo li ma ne po qui ra sa te vo xi ya zu th sh ing er an".split(),
    "german": "ein schaft über größ straße keit mäd chen zurück heiß ver ge öl".split(),
    "vietnamese": "việt nam ở đây người tiếng học được nhà đường".split(),
    "cyrillic": "при вет ёл ка до бро ут ро й мос ква спа си бо".split(),
    "greek": "κα λη μέ ρα σίς φος α θή να εί μαι".split(),
    "arabic": "سل ام مر حبا ال كت اب عَ رَ بِ يَّة".split(),
    "hebrew": "של ום עב רית יר וש לים עִ בְ רִ".split(),
    "hindi": "नम स्ते हि न्दी क ़ क्ष त्र में है".split(),
    "thai": "สวัส ดี ภา ษา ไทย น้ำ กำ ลัง".split(),
    "chinese": "你 好 世 界 我 住 在 北 京 喜 欢".split(),
    "japanese": "こん にち は 東京 に 行く ガ ギ ラー メン です".split(),
    "korean": "안 녕 하 세 요 서 울 한 국 어".split(),
    "emoji": "🙂 ❤️ 👍🏽 👩‍👩‍👧 🇩🇪 1️⃣".split(),
    "numbers": "1 20 300 2024 3.14 , . ! ? - : ; ' \"".split(),
}
ODD = [
    "", " ", "   ", "\n", "a  b", " a b ", "a\tb\r\nc\u000bd\u0085e\u00a0f\u2003g\u3000h\u2028i", "Ａｂｃ　１２３！", "ﬁ ﬂ ½ ² ① Ⅳ ™ № Å Ω ㎏ ㍿ ﷺ",
    "cafe\u0301 e\u0323\u0302 u\u0308\u0304 \u0301alone Ａ\u0301 ﬁ\u0301", "й ё \u0438\u0306 \u0435\u0308", "가 \u1100\u1161 \u1100\u1161\u11a8 ㄱㅏ ﾊﾟ ｶﾞ", "น้ำ \u0e33 ก\u0e33\u0301",
    "a\u0000b\u0001c\u007fd\u0080e\u200bf\u200cg\u200dh\ufeffi\u00adj\u2060k\ufffdl\ue000m", "\u0600e\u0301 \u06dd1 \u0e33", "▁ a▁b ▁▁c d▁", "_ a_b",
    "<s> </s> <pad> <unk> <mask>", "a<s>b</s>c  <mask>  d<mask>e", "＜unk＞ ＜s＞ <S>", "x" * 200, "你好" * 60, "🙂" * 40, "\u0301" * 30, "a" + "\u0301" * 30,
    "query: how much is it?", "👨‍👩‍👧‍👦👍🏽🇩🇪🇫🇷1️⃣ ❤️ ©️ ⌚︎", "हिन्दी क़लम \u0958 \u09dc \u0dda", "עִבְרִית שּׁ \ufb2c", "العَرَبِيَّة ﻻ ﷲ", "𝔘𝔫𝔦 𝟙𝟚 𐐀 𠀀 🏴󠁧󠁢󠁥󠁮󠁧󠁿", "ǅ ǆ ŉ ẞ ſ İ ı",
]


def words(r, n):
    """Returns n words with few of them frequent, as in a language."""
    scripts = list(SYLLABLES.values())
    return ["".join(r.choice(s) for _ in range(r.randint(1, 3))) for s in (r.choice(scripts) for _ in range(n))]


def corpus(r):
    known = words(r, 900)
    return [" ".join(known[int(len(known) * r.random() ** 3)] for _ in range(12)) for _ in range(3000)]


def texts(r, n):
    """Returns the odd texts, then n made of words, odd pieces and characters by chance."""
    ranges = [(0x20, 0x7F), (0, 0x20), (0x7F, 0x250), (0x300, 0x370), (0x370, 0x700), (0x900, 0xE80), (0x1100, 0x1200), (0x1E00, 0x2100), (0x2100, 0x2600),
              (0x3040, 0x3400), (0x4E00, 0x4E80), (0xAC00, 0xAD00), (0xF900, 0xFFFE), (0x1D400, 0x1D800), (0x1F1E6, 0x1F200), (0x1F3F0, 0x1F680), (0x200B, 0x2010)]
    pieces = [p for t in ODD for p in t.split(" ") if p and len(p) < 40]
    out = list(ODD)
    for _ in range(n):
        text = ""
        for _ in range(r.randint(1, 12)):
            kind = r.random()
            if kind < 0.55:
                text += words(r, 1)[0]
            elif kind < 0.7:
                text += r.choice(pieces)
            elif kind < 0.8:
                text += chr(r.randint(0x300, 0x36F))
            else:
                text += chr(r.randrange(*r.choice(ranges)))
            text += r.choice(["", " ", " ", " ", "  ", "\n"])
        out.append(text)
    return out


def train(lines, size):
    with tempfile.TemporaryDirectory() as folder:
        file, prefix = os.path.join(folder, "corpus.txt"), os.path.join(folder, "m")
        with open(file, "w") as f:
            f.write("\n".join(lines))
        sentencepiece.SentencePieceTrainer.train(input=file, model_prefix=prefix, vocab_size=size, model_type="unigram", normalization_rule_name="nmt_nfkc",
                                                 character_coverage=0.998, hard_vocab_limit=False, num_threads=1, minloglevel=2)
        m = sentencepiece_model_pb2.ModelProto()
        with open(prefix + ".model", "rb") as f:
            m.ParseFromString(f.read())
    return [(p.piece, p.score) for p in m.pieces[3:]], m.normalizer_spec.precompiled_charsmap


def tokenizer(pieces, charsmap):
    """Returns tokenizer.json as XLM-RoBERTa's is published: fairseq's special tokens stand before the pieces."""
    vocab = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]] + [[p, s] for p, s in pieces] + [["<mask>", 0.0]]
    special = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "<mask>": len(vocab) - 1}
    of = lambda name: {"SpecialToken": {"id": name, "type_id": 0}}
    text = lambda name: {"Sequence": {"id": name, "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": i, "special": True, "content": t, "single_word": False, "lstrip": t == "<mask>", "rstrip": False, "normalized": False} for t, i in special.items()],
        "normalizer": {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True}]},
        "post_processor": {
            "type": "TemplateProcessing", "single": [of("<s>"), text("A"), of("</s>")], "pair": [of("<s>"), text("A"), of("</s>"), of("</s>"), text("B"), of("</s>")],
            "special_tokens": {t: {"id": t, "ids": [special[t]], "tokens": [t]} for t in ("<s>", "</s>")},
        },
        "decoder": {"type": "Metaspace", "replacement": "▁", "str_rep": "▁", "add_prefix_space": True},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": vocab},
    }


def variants(published):
    """Returns the tokenizer as published, as converted today, and with bytes for unknown characters."""
    converted, bytewise = dict(published), dict(published)
    converted["normalizer"] = {"type": "Sequence", "normalizers": [published["normalizer"], {"type": "Strip", "strip_left": False, "strip_right": True}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}]}
    converted["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    bytewise["model"] = {**published["model"], "byte_fallback": True, "vocab": published["model"]["vocab"] + [["<0x%02X>" % b, -12.0] for b in range(256)]}
    return [Tokenizer.from_str(json.dumps(t)) for t in (published, converted, bytewise)]


def goldens(tokenizers, texts):
    return [{"text": t, "ids": [k.encode(t).ids for k in tokenizers]} for t in texts]


def write(name, value):
    os.makedirs(TARGET, exist_ok=True)
    with open(os.path.join(TARGET, name), "wb") as f:
        f.write(gzip.compress(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), 9, mtime=0))


published = tokenizer(*train(corpus(random.Random(1)), 600))
cut = variants(published)
if len(sys.argv) > 2:
    with open(os.path.join(sys.argv[2], "many.json"), "w") as f:
        json.dump(goldens(cut, texts(random.Random(3), int(sys.argv[1]))), f)
else:
    write("tokenizer.json.gz", published)
    write("cut.json.gz", goldens(cut, texts(random.Random(2), 250)))
