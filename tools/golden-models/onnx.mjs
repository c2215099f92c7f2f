// A BERT as an ONNX model, written field by field of the format's protobuf messages.
// It shares nothing with the Go code but the names of the tensors.

const varint = (n) => {
  const out = [];
  let x = BigInt(n);
  if (x < 0n) x += 1n << 64n;
  for (; x > 127n; x >>= 7n) out.push(Number(x & 127n) | 128);
  out.push(Number(x));
  return Buffer.from(out);
};
const int = (field, n) => Buffer.concat([varint(field << 3), varint(n)]);
const bytes = (field, b) => {
  const raw = typeof b === "string" ? Buffer.from(b) : b;
  return Buffer.concat([varint((field << 3) | 2), varint(raw.length), raw]);
};
const float = (field, x) => {
  const b = Buffer.alloc(4);
  b.writeFloatLE(x);
  return Buffer.concat([varint((field << 3) | 5), b]);
};
const message = (...parts) => Buffer.concat(parts.flat());

const FLOAT = 1, INT64 = 7;

const tensor = (name, dims, type, raw) =>
  message(dims.map((d) => int(1, d)), int(2, type), bytes(8, name), bytes(9, raw));

const attribute = (name, v) => {
  if (Array.isArray(v)) return message(bytes(1, name), v.map((x) => int(8, x)), int(20, 7));
  if (typeof v === "object") return message(bytes(1, name), float(2, v.float), int(20, 1));
  return message(bytes(1, name), int(3, v), int(20, 2));
};

const value = (name, type, dims) => {
  const shape = dims.map((d) => bytes(1, typeof d === "string" ? bytes(2, d) : int(1, d)));
  return message(bytes(1, name), bytes(2, bytes(1, message(int(1, type), bytes(2, message(shape))))));
};

/** bert returns the bytes of a model with inputs ids and types [batch, length] and
 * outputs hidden [batch, length, hidden] and, with a classifier, logits [batch, 1].
 * weights maps names, without a prefix, to {shape, data: Float32Array}. */
export function bert(config, weights, classifier) {
  const nodes = [], initializers = [];
  let count = 0;
  const node = (op, inputs, attributes = {}) => {
    const out = `v${count++}`;
    nodes.push(bytes(1, message(
      inputs.map((i) => bytes(1, i)), bytes(2, out), bytes(4, op),
      Object.entries(attributes).map(([k, v]) => bytes(5, attribute(k, v))),
    )));
    return out;
  };
  const floats = (name, dims, data) => {
    initializers.push(bytes(5, tensor(name, dims, FLOAT, Buffer.from(data.buffer, data.byteOffset, data.byteLength))));
    return name;
  };
  const ints = (...values) => {
    const name = `i${count++}`;
    const b = Buffer.alloc(8 * values.length);
    values.forEach((v, i) => b.writeBigInt64LE(BigInt(v), 8 * i));
    initializers.push(bytes(5, tensor(name, [values.length], INT64, b)));
    return name;
  };
  const number = (x) => floats(`f${count++}`, [], Float32Array.of(x));
  const weight = (name) => floats(name, weights[name].shape, weights[name].data);
  const dense = (x, name) => {
    const { shape: [out, inp], data } = weights[name + ".weight"];
    const turned = new Float32Array(data.length);
    for (let i = 0; i < out; i++) for (let k = 0; k < inp; k++) turned[k * out + i] = data[i * inp + k];
    return node("Add", [node("MatMul", [x, floats(name + ".turned", [inp, out], turned)]), weight(name + ".bias")]);
  };
  const norm = (x, name) =>
    node("LayerNormalization", [x, weight(name + ".weight"), weight(name + ".bias")], { axis: -1, epsilon: { float: config.layer_norm_eps } });

  const h = config.hidden_size, heads = config.num_attention_heads, d = h / heads;
  const words = node("Gather", [weight("embeddings.word_embeddings.weight"), "ids"]);
  const types = node("Gather", [weight("embeddings.token_type_embeddings.weight"), "types"]);
  const length = node("Slice", [node("Shape", ["ids"]), ints(1), ints(2)]);
  const positions = node("Slice", [weight("embeddings.position_embeddings.weight"), ints(0), length, ints(0)]);
  let x = norm(node("Add", [node("Add", [words, types]), positions]), "embeddings.LayerNorm");
  for (let i = 0; i < config.num_hidden_layers; i++) {
    const at = `encoder.layer.${i}.`;
    const split = (part, perm) =>
      node("Transpose", [node("Reshape", [dense(x, at + "attention.self." + part), ints(0, 0, heads, d)])], { perm });
    const scores = node("MatMul", [split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1])]);
    const seen = node("MatMul", [node("Softmax", [node("Mul", [scores, number(1 / Math.sqrt(d))])], { axis: -1 }), split("value", [0, 2, 1, 3])]);
    const joined = node("Reshape", [node("Transpose", [seen], { perm: [0, 2, 1, 3] }), ints(0, 0, h)]);
    x = norm(node("Add", [dense(joined, at + "attention.output.dense"), x]), at + "attention.output.LayerNorm");
    const inner = dense(x, at + "intermediate.dense");
    const erf = node("Erf", [node("Div", [inner, number(Math.SQRT2)])]);
    const gelu = node("Mul", [node("Mul", [inner, node("Add", [erf, number(1)])]), number(0.5)]);
    x = norm(node("Add", [dense(gelu, at + "output.dense"), x]), at + "output.LayerNorm");
  }
  nodes.push(bytes(1, message(bytes(1, x), bytes(2, "hidden"), bytes(4, "Identity"))));
  const outputs = [bytes(12, value("hidden", FLOAT, ["batch", "length", h]))];
  if (classifier) {
    const first = node("Squeeze", [node("Slice", [x, ints(0), ints(1), ints(1)]), ints(1)]);
    const logits = dense(node("Tanh", [dense(first, "pooler.dense")]), "classifier");
    nodes.push(bytes(1, message(bytes(1, logits), bytes(2, "logits"), bytes(4, "Identity"))));
    outputs.push(bytes(12, value("logits", FLOAT, ["batch", 1])));
  }
  const graph = message(
    nodes, bytes(2, "bert"), initializers,
    ["ids", "types"].map((name) => bytes(11, value(name, INT64, ["batch", "length"]))), outputs,
  );
  return message(int(1, 8), bytes(7, graph), bytes(8, message(bytes(1, ""), int(2, 17))));
}

/** inputs returns ids and types, rows of equal length, as an ONNX session takes them. */
export function inputs(ort, ids, types) {
  const dims = [ids.length, ids[0].length];
  const all = (rows) => new ort.Tensor("int64", BigInt64Array.from(rows.flat().map(BigInt)), dims);
  return { ids: all(ids), types: all(types) };
}
