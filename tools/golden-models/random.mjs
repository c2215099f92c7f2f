// Weights by chance that come out the same everywhere.

/** chance returns a generator of numbers in [0, 1): mulberry32. */
export function chance(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** weights returns all tensors of a BERT; spread is how far from 0 they go. */
export function weights(config, next, spread, classifier) {
  const out = {};
  const add = (name, shape, at = 0, by = spread) => {
    const data = new Float32Array(shape.reduce((a, b) => a * b, 1));
    for (let i = 0; i < data.length; i++) data[i] = at + by * (next() + next() - 1);
    out[name] = { shape, data };
  };
  const h = config.hidden_size, inner = config.intermediate_size;
  const dense = (name, from, to) => (add(name + ".weight", [to, from]), add(name + ".bias", [to]));
  const norm = (name) => (add(name + ".weight", [h], 1, 0.3), add(name + ".bias", [h]));
  add("embeddings.word_embeddings.weight", [config.vocab_size, h]);
  add("embeddings.position_embeddings.weight", [config.max_position_embeddings, h]);
  add("embeddings.token_type_embeddings.weight", [config.type_vocab_size, h]);
  norm("embeddings.LayerNorm");
  for (let i = 0; i < config.num_hidden_layers; i++) {
    const at = `encoder.layer.${i}.`;
    for (const part of ["query", "key", "value"]) dense(at + "attention.self." + part, h, h);
    dense(at + "attention.output.dense", h, h);
    norm(at + "attention.output.LayerNorm");
    dense(at + "intermediate.dense", h, inner);
    dense(at + "output.dense", inner, h);
    norm(at + "output.LayerNorm");
  }
  if (classifier) {
    dense("pooler.dense", h, h);
    dense("classifier", h, 1);
  }
  return out;
}
