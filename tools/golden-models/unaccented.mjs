// Writes what is left of each character's canonical decomposition without its
// nonspacing marks, where that is not the character itself: lines of code points in
// hexadecimal, the character first. Characters that are such marks are left out, and
// the Korean syllables, which Go takes apart by arithmetic.
//
//   node unaccented.mjs > ../../internal/model/transformer/unaccented.txt

const hex = (s) => [...s].map((c) => c.codePointAt(0).toString(16)).join(" ");
const lines = [];
for (let r = 0x80; r <= 0x10ffff; r++) {
  if ((r >= 0xd800 && r <= 0xdfff) || (r >= 0xac00 && r <= 0xd7a3)) continue;
  const c = String.fromCodePoint(r);
  if (/^\p{Mn}$/u.test(c)) continue;
  const left = c.normalize("NFD").replace(/\p{Mn}/gu, "");
  if (left !== c) lines.push(hex(c + left));
}
process.stdout.write(lines.join("\n") + "\n");
