// Texts that try what tokenizers get wrong.
import { chance } from "./random.mjs";

export const tricky = [
  "", " ", "Hello, world!", "I live in Lisbon; my sister's dog is called Rex.",
  "UPPER lower MiXeD", "café naïve Ångström façade señor Škoda Łódź", "cafe\u0301 e\u0323\u0301 \u0301alone",
  "İstanbul ıssız ŞIŞ", "Straße ΣΊΣΥΦΟΣ ς", "東京に行く。你好，世界！", "한국어 각 힣", "ㄱ가나다", "ありがとう ガギグ ｶﾞ",
  "日本語text混ざる", "𠀀𪜀𫝀豈", "🙂 👩‍👩‍👧 🥰 🫠 ❤️", "a\u0000b\ufffdc\u200bd\u00ade\u0007f\u001fg\u007fh\u0085i\ue000j",
  "tab\there\nnew\r\nline\u000bvt\u000cff", "nbsp\u00a0em\u2003ideographic\u3000line\u2028par\u2029end\u1680",
  "don't e-mail me@x.org $5.00 50% #1 a_b a\\b `q` ~x^2 <tag> {k}=[v]|w", "“quotes” ‘single’ — en–dash … ‰ § ¶ • ¿qué? ¡sí!",
  "[CLS] [SEP] [MASK] [PAD] [UNK] [cls] [ MASK ]", "a[SEP]b[MASK]c[[SEP]]", "##ing ## # un##able",
  "supercalifragilisticexpialidocious antidisestablishmentarianism", "x".repeat(100), "x".repeat(101), "é".repeat(100), "é".repeat(101),
  "1234567890 3.14159 1,000,000 2024-05-17T08:30:00Z 0xDEADBEEF", "http://example.org/a/b?c=d&e=f#g",
  "ﬁ ﬂ ½ ² ① Ⅳ ™ № Å K Ω", "हिन्दी में क़लम", "ภาษาไทย น้ำ", "עִבְרִית", "العَرَبِيَّة", "தமிழ் கொ", "বাংলা কো", "Việt Nam ở đây",
  "Привет, Ёлка й", "ქართული Ა", "ǅ ǆ Ǆ ŉ ẞ", "a\u0301\u0323b\u0345c", "\u0958\u09dc\u0b4b\u0dda", "end.",
  "The quick brown fox jumps over the lazy dog. ".repeat(3),
];

/** mixtures returns so many texts of random pieces. */
export function mixtures(n, seed) {
  const next = chance(seed);
  const one = (from) => from[Math.floor(next() * from.length)];
  const pieces = tricky.flatMap((t) => t.split(/(\s)/u)).filter((p) => p !== "" && p.length < 50);
  const ranges = [[0x20, 0x7f], [0xa0, 0x250], [0x300, 0x600], [0x900, 0xe00], [0x1e00, 0x2100], [0x3040, 0x3100], [0x4e00, 0x4f00], [0xac00, 0xad00], [0xf900, 0xfa00], [0x1f600, 0x1f650]];
  const out = [];
  for (let i = 0; i < n; i++) {
    let s = "";
    for (let k = 1 + Math.floor(next() * 12); k > 0; k--) {
      const [low, high] = one(ranges);
      s += next() < 0.6 ? one(pieces) : String.fromCodePoint(low + Math.floor(next() * (high - low)));
      if (next() < 0.5) s += " ";
    }
    out.push(s);
  }
  return out;
}
