// What ONNX Runtime gives for weights of chance in exactly the shapes of published models.
// The weights are made anew by the test, number by number, and are not kept.
//
//   (cd tools/golden-models && npm install --ignore-scripts)
//   node internal/model/transformer/testdata/shapes.mjs > internal/model/transformer/testdata/shapes.json
//
// With a folder of models it gives the vectors of some texts by all-MiniLM-L6-v2's own weights:
//
//   node internal/model/transformer/testdata/shapes.mjs tmp/models > internal/model/transformer/testdata/minilm.json
//
// With more folders it makes what TestRealWeights compares: a model of chance in the shape of
// all-MiniLM-L6-v2 with its published tokenizer, and reference vectors of every so many of
// the texts in the development data.
//
//   node internal/model/transformer/testdata/shapes.mjs MODELS_DIR DEVELOPMENT_DATA NEW_SHARED [every]
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import zlib from "node:zlib";
import { bert, inputs } from "../../../../tools/golden-models/onnx.mjs";
import { chance, weights } from "../../../../tools/golden-models/random.mjs";

const require = createRequire(path.join(import.meta.dirname, "../../../../tools/golden-models/package.json"));
const ort = require("onnxruntime-node");

const config = (layers) => ({
  model_type: "bert", hidden_act: "gelu", hidden_size: 384, intermediate_size: 1536, num_hidden_layers: layers, num_attention_heads: 12,
  max_position_embeddings: 512, type_vocab_size: 2, vocab_size: 30522, layer_norm_eps: 1e-12, position_embedding_type: "absolute",
});
const spread = 0.08;
const short = (x) => Number(x.toPrecision(9)); // tells every float32 from the next
const open = async (c, tensors, cross) => ort.InferenceSession.create(bert(c, tensors, cross), { intraOpNumThreads: 1 });

const pooled = (hidden, tokens, cls) => {
  const v = new Array(384).fill(0);
  for (let t = 0; t < (cls ? 1 : tokens); t++) for (let k = 0; k < 384; k++) v[k] += hidden[t * 384 + k];
  const length = Math.hypot(...v);
  return v.map((x) => Math.fround(x / length));
};

async function goldens() {
  const out = [];
  for (const [name, layers, pooling, seed] of [["all-MiniLM-L6-v2", 6, "mean", 11], ["bge-small-en-v1.5", 12, "cls", 12], ["ms-marco-MiniLM-L-6-v2", 6, "cross", 13]]) {
    const c = config(layers), cross = pooling === "cross";
    const session = await open(c, weights(c, chance(seed), spread, cross), cross);
    const next = chance(100 + seed), id = () => 1000 + Math.floor(next() * 29000), cases = [];
    for (const words of [1, 7, 40, 160]) {
      const a = Array.from({ length: words }, id), b = cross ? Array.from({ length: 2 * words }, id) : [];
      const ids = [2, ...a, 3, ...b, ...(cross ? [3] : [])];
      const types = ids.map((_, i) => (i < a.length + 2 ? 0 : 1));
      const got = await session.run(inputs(ort, [ids], [types]));
      cases.push(cross ? { a, b, logit: short(got.logits.data[0]) } : { a, vector: pooled(got.hidden.data, ids.length, pooling === "cls").map(short) });
    }
    out.push({ name, config: c, pooling, seed, spread, cases });
  }
  process.stdout.write(JSON.stringify(out) + "\n");
}

/** embedder returns what gives a text its tokens and its vector, cut as the tokenizer's file says. */
function embedder(session, json) {
  const { Tokenizer } = require("tokenizers"), tokenizer = Tokenizer.fromString(json.toString());
  tokenizer.disablePadding();
  tokenizer.setTruncation(256, { strategy: "LongestFirst" });
  return async (text) => {
    const ids = (await tokenizer.encode(text)).getIds();
    return { ids, vector: pooled((await session.run(inputs(ort, [ids], [ids.map(() => 0)]))).hidden.data, ids.length, false) };
  };
}

/** tensorsOf reads a file of safetensors, all float32 but for what the network does not read. */
function tensorsOf(file) {
  const b = fs.readFileSync(file), start = 8 + Number(b.readBigUInt64LE()), out = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] = [] }] of Object.entries(JSON.parse(b.subarray(8, start))))
    if (dtype === "F32") out[name] = { shape, data: new Float32Array(b.buffer.slice(b.byteOffset + start + from, b.byteOffset + start + to)) };
  return out;
}

async function real(models) {
  const dir = path.join(models, "all-MiniLM-L6-v2"), c = JSON.parse(fs.readFileSync(path.join(dir, "config.json")));
  const embed = embedder(await open(c, tensorsOf(path.join(dir, "model.safetensors")), false), fs.readFileSync(path.join(dir, "tokenizer.json")));
  const talk = "On the way home we stopped at the bakery, and Ragna told me about her goats, the broken fence and the winter she spent in Voss. ";
  const out = [];
  for (const text of ["", "dog", "Which instrument does my sister play?", "Ich wohne seit März in Zürich – naïve, n'est-ce pas? 😀 東京", talk, talk.repeat(3), talk.repeat(20)]) {
    const { ids, vector } = await embed(text);
    out.push({ text, ids, vector: vector.map(short) });
  }
  process.stdout.write("[\n" + out.map((g) => JSON.stringify(g)).join(",\n") + "\n]\n");
}

async function folders(models, data, shared, every) {
  const published = path.join(data, "models/all-MiniLM-L6-v2-tokenizer-only"), target = path.join(models, "all-MiniLM-L6-v2");
  fs.cpSync(published, target, { recursive: true });
  const json = zlib.gunzipSync(fs.readFileSync(path.join(published, "tokenizer.json.gz")));
  fs.writeFileSync(path.join(target, "tokenizer.json"), json);
  const c = config(6), tensors = weights(c, chance(11), spread, false), header = {}, parts = [];
  let at = 0;
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    parts.push(Buffer.from(data.buffer, data.byteOffset, data.byteLength));
    header[name] = { dtype: "F32", shape, data_offsets: [at, (at += data.byteLength)] };
  }
  const text = Buffer.from(JSON.stringify(header)), length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  fs.writeFileSync(path.join(target, "model.safetensors"), Buffer.concat([length, text, ...parts]));

  const embed = embedder(await open(c, tensors, false), json), vector = async (t) => (await embed(t)).vector;
  const from = path.join(data, "data/minilm-reference"), to = path.join(shared, "data/minilm-reference");
  const read = (name) => JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(from, name))));
  const write = (name, b) => (fs.mkdirSync(to, { recursive: true }), fs.writeFileSync(path.join(to, name), zlib.gzipSync(b)));
  const chunks = read("capjs_code_chunks.json.gz").chunks.filter((_, i) => i % every === 0), raw = [];
  for (const t of chunks) raw.push(...(await vector(t)));
  write("capjs_code_chunks.json.gz", JSON.stringify({ dim: 384, chunks }));
  write("capjs_code_chunks.f32.bin.gz", Buffer.from(Float32Array.from(raw).buffer));
  const texts = read("minilm_l6_v2_100texts.json.gz").filter((_, i) => i % every === 0);
  for (const t of texts) t.teacher_emb = await vector(t.text);
  write("minilm_l6_v2_100texts.json.gz", JSON.stringify(texts));
  console.log(`${chunks.length} long and ${texts.length} short texts`);
}

if (process.argv.length < 3) await goldens();
else if (process.argv.length === 3) await real(process.argv[2]);
else await folders(process.argv[2], process.argv[3], process.argv[4], Number(process.argv[5] ?? 1));
