// Makes tiny models of chance and, with other people's implementations, what they
// give: ONNX Runtime runs the networks, and Hugging Face's tokenizers cut the texts.
//
//   npm install && node make.mjs [folder of development data]
//
// With the folder it writes how the published tokenizer in it cuts the same texts,
// and a hash of how it cuts the texts of data/minilm-reference. It writes into
// internal/model/transformer/testdata; the tests need nothing of this.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import zlib from "node:zlib";
import ort from "onnxruntime-node";
import { Tokenizer } from "tokenizers";
import { bert, inputs } from "./onnx.mjs";
import { chance, weights } from "./random.mjs";
import { mixtures, tricky } from "./texts.mjs";

const target = path.join(import.meta.dirname, "../../internal/model/transformer/testdata");

// Numbers as a file stores them, and what is then left of them.
const kinds = {
  F32: { bytes: 4, write: (b, at, x) => b.writeFloatLE(x, at), left: Math.fround },
  F64: { bytes: 8, write: (b, at, x) => b.writeDoubleLE(x, at), left: (x) => x },
  I8: { bytes: 1, write: (b, at, x) => b.writeInt8(Math.round(x), at), left: Math.round },
  I32: { bytes: 4, write: (b, at, x) => b.writeInt32LE(x, at), left: (x) => x },
  BF16: { bytes: 2, write: (b, at, x) => b.writeUInt16LE(bf16(x), at), left: (x) => fromBits(bf16(x) << 16) },
  F16: { bytes: 2, write: (b, at, x) => b.writeUInt16LE(half(x), at), left: (x) => fromHalf(half(x)) },
};
const scratch = new DataView(new ArrayBuffer(4));
const bitsOf = (x) => (scratch.setFloat32(0, x), scratch.getUint32(0));
const fromBits = (n) => (scratch.setUint32(0, n >>> 0), scratch.getFloat32(0));
const bf16 = (x) => bitsOf(x) >>> 16; // cut off
const half = (x) => { // cut off; the weights are neither tiny nor large
  const n = bitsOf(x), e = ((n >>> 23) & 0xff) - 112;
  return e <= 0 ? (n >>> 16) & 0x8000 : ((n >>> 16) & 0x8000) | (e << 10) | ((n >>> 13) & 0x3ff);
};
const fromHalf = (h) => ((h & 0x7c00) === 0 ? 0 : fromBits(((h & 0x8000) << 16) | ((((h >> 10) & 31) + 112) << 23) | ((h & 0x3ff) << 13)));

/** safetensors returns a file; tensors are {shape, data, kind}. */
function safetensors(tensors) {
  const header = { __metadata__: { format: "pt" } }, parts = [];
  let at = 0;
  for (const [name, { shape, data, kind }] of Object.entries(tensors)) {
    const { bytes, write } = kinds[kind];
    const b = Buffer.alloc(bytes * data.length);
    data.forEach((x, i) => write(b, bytes * i, x));
    header[name] = { dtype: kind, shape, data_offsets: [at, (at += b.length)] };
    parts.push(b);
  }
  let text = JSON.stringify(header);
  text += " ".repeat((8 - (text.length % 8)) % 8);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  return Buffer.concat([length, Buffer.from(text), ...parts]);
}

const letters = [..."abcdefghijklmnopqrstuvwxyz0123456789"];
const words = [
  "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ...letters, ...letters.map((c) => "##" + c),
  ..."!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”—…¿¡。，！", ..."東京に行你好世界日本語混豈", ..."ㄱ가나다한국", ..."ᄀᄂ", "##ᅡ", "##ᆨ", ..."σςιпрёи", "##σ", "##р", "##и",
  "the", "hello", "world", "lisbon", "live", "sister", "dog", "quick", "brown", "fox", "##ing", "##able", "##er", "un", "over", "lazy", "cafe", "naive",
  "istanbul", "jump", "##s", "##ss", "stra", "end", "text",
].filter((w, i, all) => all.indexOf(w) === i);

const tokenizerJSON = (vocab, lowercase = true) => ({
  version: "1.0", truncation: null, padding: null,
  added_tokens: ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map((content) => ({
    id: vocab.indexOf(content), content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true,
  })),
  normalizer: { type: "BertNormalizer", clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase },
  pre_tokenizer: { type: "BertPreTokenizer" },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ SpecialToken: { id: "[CLS]", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "[SEP]", type_id: 0 } }],
    pair: [
      { SpecialToken: { id: "[CLS]", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, { SpecialToken: { id: "[SEP]", type_id: 0 } },
      { Sequence: { id: "B", type_id: 1 } }, { SpecialToken: { id: "[SEP]", type_id: 1 } },
    ],
    special_tokens: Object.fromEntries(["[CLS]", "[SEP]"].map((t) => [t, { id: t, ids: [vocab.indexOf(t)], tokens: [t] }])),
  },
  decoder: { type: "WordPiece", prefix: "##", cleanup: true },
  model: { type: "WordPiece", unk_token: "[UNK]", continuing_subword_prefix: "##", max_input_chars_per_word: 100, vocab: Object.fromEntries(vocab.map((w, i) => [w, i])) },
});

const unigramJSON = (vocab) => ({
  ...tokenizerJSON(words), added_tokens: tokenizerJSON(words).added_tokens.slice(0, 2),
  normalizer: {
    type: "Sequence",
    normalizers: [
      tokenizerJSON(words).normalizer, { type: "Replace", pattern: { String: "!" }, content: " ! " }, { type: "Replace", pattern: { String: "," }, content: " , " },
      { type: "Replace", pattern: { Regex: "\\s+" }, content: " " }, { type: "Strip", strip_left: true, strip_right: true },
    ],
  },
  pre_tokenizer: { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: false },
  post_processor: { type: "TemplateProcessing", single: [{ Sequence: { id: "A", type_id: 0 } }], pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 0 } }], special_tokens: {} },
  model: { type: "Unigram", unk_id: 1, byte_fallback: false, vocab },
});

const write = (dir, name, content) => {
  const file = path.join(target, dir, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, Buffer.isBuffer(content) ? content : JSON.stringify(content) + "\n");
};

const encode = async (tokenizer, text, pair = null, max = 0) => {
  if (max) tokenizer.setTruncation(max, { strategy: "LongestFirst" });
  else tokenizer.disableTruncation();
  const e = await tokenizer.encode(text, pair);
  return { ids: e.getIds(), types: e.getTypeIds() };
};

const short = (x) => Number(x.toPrecision(9)); // tells every float32 from the next

// XLM-RoBERTa's head, by BERT's names.
const heads = { "pooler.dense": "classifier.dense", classifier: "classifier.out_proj" };

async function embedder(dir, { config, kind, pooling, seed, lowercase, vocab, prompts, max, json }) {
  const tensors = weights(config, chance(seed), 0.25, pooling === "cross");
  const stored = {}, roberta = config.model_type === "xlm-roberta";
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    data.forEach((x, i) => (data[i] = kinds[kind].left(x)));
    const [, module, rest] = name.match(/(.*)(\.\w+)$/);
    const head = roberta ? module in heads : name.startsWith("classifier");
    stored[head ? (roberta ? heads[module] + rest : name) : (pooling === "cross" ? (roberta ? "roberta." : "bert.") : "") + name] = { shape, data, kind };
  }
  if (pooling === "cls") stored["embeddings.position_ids"] = { shape: [1, 4], data: [0, 1, 2, 3], kind: "I32" };
  write(dir, "config.json", config);
  write(dir, "model.safetensors", safetensors(stored));
  const given = json !== undefined;
  json ??= tokenizerJSON(words, lowercase);
  const tokenizer = Tokenizer.fromString(JSON.stringify(json));
  if (vocab) {
    write(dir, "vocab.txt", Buffer.from(words.join("\n") + "\n"));
    write(dir, "tokenizer_config.json", { do_lower_case: lowercase, strip_accents: null, tokenize_chinese_chars: true, model_max_length: max });
  } else {
    if (!given) write(dir, "tokenizer.json", json);
    write(dir, "sentence_bert_config.json", { max_seq_length: max, do_lower_case: false });
  }
  if (pooling !== "cross") {
    write(dir, "1_Pooling/config.json", { word_embedding_dimension: config.hidden_size, pooling_mode_cls_token: pooling === "cls", pooling_mode_mean_tokens: pooling === "mean", pooling_mode_max_tokens: false });
    write(dir, "modules.json", ["Transformer", "Pooling", "Normalize"].map((t, idx) => ({ idx, name: String(idx), path: ["", "1_Pooling", "2_Normalize"][idx], type: "sentence_transformers.models." + t })));
  }
  if (prompts) write(dir, "config_sentence_transformers.json", { prompts });

  if (roberta) { // the first rows are of no position
    const { shape: [rows, h], data } = tensors["embeddings.position_embeddings.weight"], first = config.pad_token_id + 1;
    tensors["embeddings.position_embeddings.weight"] = { shape: [rows - first, h], data: data.slice(first * h) };
  }
  const session = await ort.InferenceSession.create(bert(config, tensors, pooling === "cross"));
  const texts = [...tricky.filter((t) => t.length < 60), ...mixtures(20, seed)], golden = [];
  for (const [i, text] of texts.entries()) {
    if (pooling === "cross") {
      const pair = texts[(i * 7 + 3) % texts.length];
      const { ids, types } = await encode(tokenizer, text, pair, max);
      const { logits } = await session.run(inputs(ort, [ids], [types]));
      golden.push({ text, pair, ids, types, score: short(1 / (1 + Math.exp(-logits.data[0]))) });
      continue;
    }
    const { ids, types } = await encode(tokenizer, (prompts?.query ?? "") + text, null, max);
    const { hidden } = await session.run(inputs(ort, [ids], [types]));
    const h = config.hidden_size, v = new Array(h).fill(0);
    for (let t = 0; t < (pooling === "cls" ? 1 : ids.length); t++) for (let k = 0; k < h; k++) v[k] += hidden.data[t * h + k];
    const length = Math.hypot(...v);
    golden.push({ text, ids, vector: i < 24 ? v.map((x) => short(Math.fround(x / length))) : undefined });
  }
  write(dir, "golden.json", golden);
}

const shape = (hidden, heads, inner) => ({
  model_type: "bert", architectures: ["BertModel"], hidden_size: hidden, num_attention_heads: heads, intermediate_size: inner, num_hidden_layers: 2,
  hidden_act: "gelu", layer_norm_eps: 1e-12, max_position_embeddings: 64, type_vocab_size: 2, vocab_size: words.length, position_embedding_type: "absolute",
});

async function staticModels() {
  const next = chance(4), dims = 16;
  const vectors = (rows, by = 1) => Array.from({ length: rows * dims }, () => Math.fround(by * (2 * next() - 1)));
  const check = async (dir, json, embeddings, weight, row) => {
    const tokenizer = Tokenizer.fromString(JSON.stringify(json)), golden = [];
    for (const text of [...tricky, ...mixtures(40, 5)]) {
      const e = await tokenizer.encode(text, null, { addSpecialTokens: false });
      const all = e.getIds(), v = new Array(dims).fill(0);
      for (const id of all.filter((id) => id !== 1)) for (let k = 0; k < dims; k++) v[k] += weight(id) * embeddings[row(id) * dims + k];
      const length = Math.hypot(...v);
      golden.push({ text, ids: all, vector: length > 0 ? v.map((x) => short(Math.fround(x / length))) : [1, ...new Array(dims - 1).fill(0)] });
    }
    write(dir, "config.json", { model_type: "model2vec", architectures: ["StaticModel"], normalize: true });
    write(dir, "tokenizer.json", json);
    write(dir, "golden.json", golden);
  };
  const int8 = vectors(words.length, 127).map(Math.round);
  await check("static", tokenizerJSON(words), int8, () => 1, (id) => id);
  write("static", "model.safetensors", safetensors({ embeddings: { shape: [words.length, dims], data: int8, kind: "I8" } }));

  const pieces = ["[PAD]", "[UNK]", "▁", "▁the", "▁hello", "▁wor", "ld", "l", "▁l", "is", "bon", "▁lis", "▁lisbon", "s", "▁d", "og", "▁dog", "▁!", "▁,", ...letters, "▁quick", "▁qu", "ick", "er", "▁brown", "▁fox", "▁fox▁jumps", "caf", "ª", "東", "東京", "京", "ing", "▁in", "▁a", "▁i", "▁live", "in", "▁my"]
    .filter((w, i, all) => all.indexOf(w) === i)
    .map((w) => [w, w === "[UNK]" ? 0 : -Math.round(1e6 * (3 + 9 * next())) / 1e6 / (1 + [...w].length / 8)]);
  const rows = vectors(24).map((x) => kinds.F16.left(x)), mapping = pieces.map(() => Math.floor(next() * 24)), scale = pieces.map(() => next());
  await check("unigram", unigramJSON(pieces), rows, (id) => Math.fround(scale[id]), (id) => mapping[id]);
  write("unigram", "model.safetensors", safetensors({
    weights: { shape: [pieces.length], data: scale, kind: "F64" }, embeddings: { shape: [24, dims], data: rows, kind: "F16" },
    mapping: { shape: [pieces.length], data: mapping, kind: "I32" },
  }));
}

// Made anew, nothing is left of before.
fs.readdirSync(target, { withFileTypes: true }).filter((d) => ["mean", "cls", "cross", "static", "unigram", "xlmr", "xlmr-cross"].includes(d.name)).forEach((d) => fs.rmSync(path.join(target, d.name), { recursive: true }));
await embedder("mean", { config: shape(32, 4, 64), kind: "F32", pooling: "mean", seed: 1, lowercase: true, max: 48 });
await embedder("cls", { config: shape(48, 4, 72), kind: "F16", pooling: "cls", seed: 2, lowercase: false, vocab: true, prompts: { query: "the text: ", document: "" }, max: 64 });
await embedder("cross", { config: { ...shape(64, 2, 96), architectures: ["BertForSequenceClassification"] }, kind: "BF16", pooling: "cross", seed: 3, lowercase: true, max: 40 });
await staticModels();
const xlm = JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(target, "multilingual/tokenizer.json.gz")))); // by multilingual.py
const padded = xlm.model.vocab.length + 6; // as published ones have more rows than tokens
await embedder("multilingual", { config: { ...shape(32, 4, 64), vocab_size: padded, pad_token_id: 0 }, kind: "BF16", pooling: "mean", seed: 6, json: xlm, max: 48 });
await embedder("xlmr", {
  config: { ...shape(32, 4, 64), model_type: "xlm-roberta", type_vocab_size: 1, vocab_size: padded, pad_token_id: 1, layer_norm_eps: 1e-5 },
  kind: "BF16", pooling: "cls", seed: 7, json: xlm, prompts: { query: "query: ", passage: "passage: " }, max: 62,
});
await embedder("xlmr-cross", {
  config: { ...shape(32, 4, 64), model_type: "xlm-roberta", type_vocab_size: 1, vocab_size: padded, pad_token_id: 1, layer_norm_eps: 1e-5 },
  kind: "BF16", pooling: "cross", seed: 8, json: xlm, max: 40,
});

if (process.argv[2]) {
  const unzip = (file) => zlib.gunzipSync(fs.readFileSync(path.join(process.argv[2], file))).toString();
  const tokenizer = Tokenizer.fromString(unzip("models/all-MiniLM-L6-v2-tokenizer-only/tokenizer.json.gz")), golden = [];
  tokenizer.disablePadding();
  for (const text of [...tricky, ...mixtures(150, 6)]) golden.push({ text, ids: (await encode(tokenizer, text)).ids });
  write(".", "published.json", golden);
  const hash = crypto.createHash("sha256"), { chunks } = JSON.parse(unzip("data/minilm-reference/capjs_code_chunks.json.gz"));
  for (const text of chunks) hash.update(Buffer.from(Int32Array.from((await encode(tokenizer, text)).ids).buffer));
  write(".", "reference.json", { texts: chunks.length, sha256: hash.digest("hex") });
}
