// Times ONNX Runtime on a BERT of all-MiniLM-L6-v2's shape with weights of chance, to
// stand beside BenchmarkEmbed and BenchmarkRerank of internal/model/transformer.
//
//   node bench.mjs [threads] [seconds for each shape]
import ort from "onnxruntime-node";
import { bert, inputs } from "./onnx.mjs";
import { chance, weights } from "./random.mjs";

const config = {
  hidden_size: 384, intermediate_size: 1536, num_hidden_layers: 6, num_attention_heads: 12,
  max_position_embeddings: 512, type_vocab_size: 2, vocab_size: 1000, layer_norm_eps: 1e-12,
};
const threads = Number(process.argv[2] ?? 1), seconds = Number(process.argv[3] ?? 1);
const session = await ort.InferenceSession.create(bert(config, weights(config, chance(1), 0.05, false), false), {
  intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: "all",
});
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
for (const [batch, length] of [[1, 8], [1, 16], [1, 32], [1, 128], [1, 256], [24, 64]]) {
  const rows = (f) => Array.from({ length: batch }, (_, i) => Array.from({ length }, (_, k) => f(i, k)));
  const feed = inputs(ort, rows((i, k) => (i * 31 + k * 7) % 1000), rows(() => 0));
  await session.run(feed);
  const times = [];
  for (const end = performance.now() + 1000 * seconds; performance.now() < end; ) {
    const start = performance.now();
    await session.run(feed);
    times.push(performance.now() - start);
  }
  const sorted = times.sort((a, b) => a - b);
  console.log(`onnxruntime threads=${threads} ${batch}x${length}: best ${sorted[0].toFixed(2)} ms, median ${median(times).toFixed(2)} ms`);
}
